#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    agent_context_fuzz::check_json(data);
    let text = String::from_utf8_lossy(data);
    agent_context_fuzz::check_json(agent_context_fuzz::json_of(&text).as_bytes());
});
