//! On real files. `support` has the store and the disks that misbehave.

mod cache;
mod finding;
mod freshness;
mod linking;
mod model;
mod support;
