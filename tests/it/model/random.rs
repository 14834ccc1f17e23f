//! Any sequence of calls, of notes taken by hand and of restarts does what the model does.

use std::fs;
use std::mem::replace;

use proptest::prelude::*;

use super::seen::{look, sessions};
use super::{Call, Made, Model, any_made, check};
use crate::harness::{Client, World};

#[derive(Clone, Debug)]
enum Step {
    Call(Made),
    /// Somebody writes into the file of the active plan of the current session.
    Jot(&'static str),
    /// The server ends and another one starts; it is killed or it ends by itself.
    Restart {
        killed: bool,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any_made().prop_map(Step::Call),
        2 => prop::sample::select(vec!["half of it", "- [x] one\n- [ ] two", "walrus"]).prop_map(Step::Jot),
        1 => any::<bool>().prop_map(|killed| Step::Restart { killed }),
    ]
}

/// A server, and what it should be like.
struct Pair {
    world: World,
    client: Client,
    model: Model,
}

impl Pair {
    /// With one session.
    fn new() -> Self {
        let world = World::new();
        let mut pair = Self { client: world.client(), model: Model::new(&world.root()), world };
        pair.call(&Made { call: Call::Create { task: "0".to_owned() }, session: None });
        pair
    }

    fn call(&mut self, made: &Made) {
        let (tool, arguments) = made.request(&self.model);
        let result = self.client.call(tool, arguments);
        let expected = self.model.apply(made, made.drawn(&result));
        check(&expected, result);
    }

    fn step(&mut self, number: usize, step: &Step) {
        match step {
            Step::Call(made) => self.call(&made.clone().numbered(number)),
            Step::Jot(text) => {
                let session = &mut self.model.sessions[self.model.current];
                if let Some(plan) = &mut session.active {
                    let path = self.world.plan_file(&session.name, &plan.id);
                    let file = fs::read_to_string(&path).unwrap();
                    fs::write(path, format!("{file}\n{text}\n")).unwrap();
                    plan.jot(text);
                }
            }
            Step::Restart { killed } => {
                let before = replace(&mut self.client, self.world.client());
                if *killed {
                    drop(before);
                } else {
                    assert!(before.exit().status.success());
                }
                self.call(&Made { call: Call::Resume, session: Some(self.model.current) });
            }
        }
    }

    /// Compares all that a stranger finds.
    fn agree(&mut self) {
        let mut client = self.world.client();
        assert_eq!(sessions(&mut client, &self.world), self.model.names());
        for session in &self.model.sessions {
            assert_eq!(look(&mut client, &self.world, &session.name), (session.face(), 0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_calls_does_what_plain_lists_do(steps in prop::collection::vec(any_step(), 1..80)) {
        let mut pair = Pair::new();
        for (number, step) in (1..).zip(&steps) {
            pair.step(number, step);
            for call in [Call::State, Call::Validate] {
                pair.call(&Made { call, session: Some(pair.model.current) });
            }
        }
        pair.agree();
    }
}
