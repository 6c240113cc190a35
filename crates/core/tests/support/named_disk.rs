//! The local disk without support for unnamed temporary files.

use simulator::HookedDisk;
use storage::LocalDisk;

/// [`LocalDisk`] without [`storage::Disk::create_unnamed`].
pub const NAMED_DISK: HookedDisk<LocalDisk, ()> = HookedDisk::new(LocalDisk, ());
