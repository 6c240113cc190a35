#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    agent_context_fuzz::time::check_time(&String::from_utf8_lossy(data));
});
