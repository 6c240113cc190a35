//! The local disk as it is where files without names do not exist.

use simulator::HookedDisk;
use storage::LocalDisk;

/// [`LocalDisk`] without [`storage::Disk::create_unnamed`].
pub const NAMED_DISK: HookedDisk<LocalDisk, ()> = HookedDisk::new(LocalDisk, ());
