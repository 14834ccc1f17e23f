//! A server that is killed at random instants, again and again, under a stream of calls of all kinds.
//!
//! Calls take effect in the order sent. So what a new server finds must be what the model has come to after some number of
//! them: no fewer than were acknowledged, no more than were sent, and no call by half.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt;
use std::hint::spin_loop;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::harness::World;
use crate::model::seen::{Face, look, sessions};
use crate::model::{Call, Made, Model, any_made, check};

/// How often an ordinary run kills. `KILLS` in the environment asks for another number.
const KILLS: usize = 50;

/// How many calls may be sent before one is answered, and how many are answered at most before the server is killed.
const AHEAD: usize = 16;
const ANSWERED: usize = 40;

/// The longest time from an answer to the kill: longer than a call takes.
const LONGEST_DELAY: Duration = Duration::from_millis(3);

/// How many sessions a reply lists for certain.
const LISTED: usize = 50;

/// What is counted.
#[derive(Default)]
struct Tally {
    kills: usize,
    acknowledged: usize,
    losses: usize,
    repairs: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, acknowledged, losses, repairs } = self;
        write!(f, "{kills} kills, {acknowledged} acknowledged calls, {losses} losses, {repairs} repairs")
    }
}

struct Harness {
    world: World,
    runner: TestRunner,
    /// What was acknowledged, and what was found to have taken place.
    model: Model,
    drawn: usize,
    tally: Tally,
}

/// A call that was sent, and the number by which it is answered.
struct Sent {
    made: Made,
    id: u64,
}

impl Harness {
    fn new() -> Self {
        let world = World::new();
        let model = Model::new(&world.root());
        Self { world, runner: TestRunner::deterministic(), model, drawn: 0, tally: Tally::default() }
    }

    fn draw<S: Strategy>(&mut self, strategy: S) -> S::Value {
        strategy.new_tree(&mut self.runner).unwrap().current()
    }

    /// The next call, for a server that will have come to `ahead`. It names nothing that nobody was told of so far.
    fn next(&mut self, ahead: &Model, first: bool) -> (Made, &'static str, Value) {
        loop {
            self.drawn += 1;
            let mut made = self.draw(any_made()).numbered(self.drawn);
            if first && !ahead.sessions.is_empty() {
                made = Made { call: Call::Resume, session: Some(self.drawn) };
            } else if first && !matches!(made.call, Call::Create { .. }) {
                continue;
            }
            if matches!(made.call, Call::Sessions) && ahead.sessions.len() > LISTED {
                continue;
            }
            let (tool, arguments) = made.request(ahead);
            if arguments["session_name"] != "" && arguments["plan_id"] != "" {
                return (made, tool, arguments);
            }
        }
    }

    /// One server, from its start to its end in the midst of calls.
    fn life(&mut self) {
        let mut client = self.world.client();
        let (answers, delay) = (self.draw(0..ANSWERED), self.draw(0..LONGEST_DELAY.as_micros()));
        // The model when all is done that was sent.
        let mut ahead = self.model.clone();
        let mut about = BTreeSet::new();
        let mut sent: Vec<Sent> = Vec::new();
        let mut acknowledged = 0;
        loop {
            while sent.len() < acknowledged + AHEAD {
                let (made, tool, arguments) = self.next(&ahead, sent.is_empty());
                let id = client.send_call(tool, arguments);
                ahead.apply(&made, "");
                about.insert(ahead.current);
                sent.push(Sent { made, id });
            }
            if acknowledged == answers {
                break;
            }
            let Sent { made, id } = &sent[acknowledged];
            let result = client.result(*id);
            ahead.told(made, made.drawn(&result));
            self.acknowledge(made, result);
            acknowledged += 1;
        }
        let now = Instant::now();
        while now.elapsed().as_micros() < delay {
            spin_loop();
        }
        client.kill();
        // What it wrote before it died is acknowledged too.
        while let Some(result) = sent.get(acknowledged).and_then(|sent| client.last_result(sent.id)) {
            self.acknowledge(&sent[acknowledged].made, result);
            acknowledged += 1;
        }
        self.tally.kills += 1;
        self.tally.acknowledged += acknowledged;
        self.find(&about, &sent[acknowledged..]);
    }

    fn acknowledge(&mut self, made: &Made, result: Value) {
        let expected = self.model.apply(made, made.drawn(&result));
        check(&expected, result);
    }

    /// Finds out how many of the calls that were not acknowledged have taken place, and goes on from there.
    fn find(&mut self, about: &BTreeSet<usize>, in_doubt: &[Sent]) {
        let mut client = self.world.client();
        let names = sessions(&mut client, &self.world);
        let known = self.model.names();
        let mut faces: BTreeMap<Option<String>, (String, Face)> = BTreeMap::new();
        let touched = about.iter().filter_map(|which| self.model.sessions.get(*which)).map(|session| &session.name);
        for name in names.difference(&known).chain(touched) {
            let (face, repairs) = look(&mut client, &self.world, name);
            self.tally.repairs += repairs;
            faces.insert(face.task.clone(), (name.clone(), face));
        }
        let mut doubts = in_doubt.iter();
        while !self.agrees(&names, &faces) {
            let Some(Sent { made, .. }) = doubts.next() else {
                self.tally.losses += 1;
                let calls: Vec<&Call> = in_doubt.iter().map(|sent| &sent.made.call).collect();
                panic!("{}: after {calls:#?} at most, found {faces:#?}", self.tally);
            };
            self.model.apply(made, "");
        }
        assert_eq!(names, self.model.names());
    }

    /// Whether the model is what was found; then it takes from there what nobody was told.
    fn agrees(&mut self, names: &BTreeSet<String>, faces: &BTreeMap<Option<String>, (String, Face)>) -> bool {
        let mut learned = Vec::new();
        for (which, session) in self.model.sessions.iter().enumerate() {
            let Some((name, face)) = faces.get(&session.task) else { continue };
            let mut session = session.clone();
            session.learn(name, face);
            if session.face() != *face {
                return false;
            }
            learned.push((which, session));
        }
        if learned.len() != faces.len() || self.model.sessions.len() != names.len() {
            return false;
        }
        for (which, session) in learned {
            self.model.sessions[which] = session;
        }
        true
    }

    /// Looks at all sessions again, also at those that were left alone for long.
    fn look_at_all(&mut self) {
        let mut client = self.world.client();
        for session in &self.model.sessions {
            assert_eq!(look(&mut client, &self.world, &session.name), (session.face(), 0), "{}", session.name);
        }
    }
}

#[expect(clippy::print_stdout, reason = "the count is for a person to read")]
#[test]
fn no_acknowledged_call_is_lost_however_often_the_server_is_killed() {
    let kills = env::var("KILLS").map_or(KILLS, |kills| kills.parse().expect("a number in KILLS"));
    let mut harness = Harness::new();
    for _ in 0..kills {
        harness.life();
    }
    harness.look_at_all();
    println!("{}", harness.tally);
    assert_eq!((harness.tally.kills, harness.tally.losses), (kills, 0));
}
