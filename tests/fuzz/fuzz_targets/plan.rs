//! Any bytes as a plan file, and any text as the sections of a plan.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nineplan_fuzz::plan::Plan;
use nineplan_fuzz::plan_text::{NotUtf8, parse, render};

/// What parts the sections in the input. Nothing depends on it in a plan.
const BETWEEN: char = '\0';

fuzz_target!(|bytes: &[u8]| {
    match (parse(bytes), str::from_utf8(bytes)) {
        (Ok(plan), Ok(text)) => {
            assert_eq!(plan.clone().tidied(), plan, "what is read is tidied");
            assert_reads_back(&plan);
            let mut sections = text.split(BETWEEN);
            let plan = Plan::from_sections([(); 7].map(|()| sections.next().unwrap_or_default().to_owned()));
            assert_reads_back(&plan.tidied());
        }
        (Err(NotUtf8 { offset }), Err(error)) => assert_eq!(offset, error.valid_up_to()),
        (parsed, text) => panic!("{parsed:?}, but {text:?}"),
    }
});

fn assert_reads_back(plan: &Plan) {
    assert_eq!(parse(render(plan).as_bytes()).as_ref(), Ok(plan));
}
