//! An input that goes from call to call.

use std::cell::RefCell;

/// An input that is not shared, and goes from call to call as through the layers of a model.
pub struct Owned<T>(RefCell<Option<T>>);

impl<T> Owned<T> {
    /// This input, for the first call.
    pub fn new(x: T) -> Self {
        Self(RefCell::new(Some(x)))
    }

    /// Takes the input through a call, and keeps what comes out for the next one.
    ///
    /// # Panics
    ///
    /// When called from within such a call.
    pub fn pass(&self, through: impl FnOnce(T) -> T) {
        let x = self.0.take().expect("put back after every call");
        self.0.replace(Some(through(x)));
    }
}
