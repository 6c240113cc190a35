//! Registry of shared objects: one object for each key, while it has users.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

/// The objects of one kind that are in use, by key.
pub struct Registry<K, T>(OnceLock<Mutex<HashMap<K, Weak<T>>>>);

impl<K: Eq + Hash, T> Registry<K, T> {
    /// An empty registry.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The object in use with this key, or a new one. Concurrent calls get the same object.
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        let objects = self.0.get_or_init(Mutex::default);
        let mut objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = objects.get(&key).and_then(Weak::upgrade) {
            return object;
        }
        objects.retain(|_, object| object.strong_count() > 0);
        let object = make();
        objects.insert(key, Arc::downgrade(&object));
        object
    }
}

impl<K: Eq + Hash, T> Default for Registry<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_shared_while_it_is_in_use() {
        let registry = Registry::new();
        let one = registry.get_or_insert_with("a", || Arc::new(1));
        assert_eq!(*registry.get_or_insert_with("a", || Arc::new(2)), 1);
        let other = registry.get_or_insert_with("b", || Arc::new(3));
        drop(one);
        assert_eq!(*registry.get_or_insert_with("a", || Arc::new(4)), 4);
        assert_eq!(*other, 3);
    }

    #[test]
    fn keys_without_an_object_are_dropped() {
        let registry = Registry::new();
        for key in 0..100 {
            drop(registry.get_or_insert_with(key, || Arc::new(key)));
        }
        assert_eq!(registry.0.get().unwrap().lock().unwrap().len(), 1);
    }
}
