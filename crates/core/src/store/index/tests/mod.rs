//! Tests of the entry index on real files. `support` has the store and the disks with injected
//! errors.

mod cache;
mod finding;
mod freshness;
mod linking;
mod model;
mod support;
