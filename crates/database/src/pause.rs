//! The pauses between repetitions.

use std::time::Duration;

use uuid::Uuid;

const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1);

/// Pauses that double, each a random time between half of it and the whole, so that processes do not repeat in step.
pub(crate) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Pauses {
    /// The next pause.
    pub fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST);
        let [random, ..] = Uuid::new_v4().into_bytes();
        pause.mul_f64(0.5 + f64::from(random) / 512.0)
    }
}
