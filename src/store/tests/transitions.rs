//! What each transition does to the queue, the rows and the files.

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use rusqlite::types::Value;

use super::{Bench, activate, add, complete, discard, plan, plan_id};
use crate::error::Error;
use crate::plan::{PlanId, Position};
use crate::plan_text;
use crate::store::{Counts, Ending, QUEUE_SHOWN, QueuedPlan, SessionStore};

#[derive(Debug, Clone, Copy)]
enum Step {
    Add(Position),
    Pull,
    Defer(Position),
    Complete,
    Discard,
    Reopen,
}

/// What a session should be like, kept in the plainest way.
#[derive(Default)]
struct Model {
    queue: VecDeque<QueuedPlan>,
    active: Option<QueuedPlan>,
    history: Vec<PlanId>,
    added: usize,
}

/// What can be seen of a session.
#[derive(Debug, PartialEq)]
struct Seen {
    queue: Vec<QueuedPlan>,
    counts: Counts,
    active: Option<QueuedPlan>,
    history: Vec<String>,
    files: BTreeSet<PlanId>,
}

impl Model {
    fn counts(&self) -> Counts {
        Counts { queued: self.queue.len() as u64, completed: self.history.len() as u64 }
    }

    fn place(&mut self, plan: QueuedPlan, position: Position) -> u64 {
        match position {
            Position::Front => self.queue.push_front(plan),
            Position::Back => self.queue.push_back(plan),
        }
        if position == Position::Front { 1 } else { self.counts().queued }
    }

    fn seen(&self) -> Seen {
        Seen {
            queue: self.queue.iter().cloned().collect(),
            counts: self.counts(),
            active: self.active.clone(),
            history: self.history.iter().map(PlanId::to_string).collect(),
            files: self.queue.iter().chain(&self.active).map(|plan| plan.id.clone()).collect(),
        }
    }

    /// Takes a step here and in the store, and compares what came of it.
    fn step(&mut self, store: &mut SessionStore, step: Step) {
        match step {
            Step::Add(position) => {
                let goal = format!("goal {}", self.added);
                self.added += 1;
                let placed = store.add(&plan(&goal), position, None).unwrap();
                let expected = self.place(QueuedPlan { id: placed.id, goal }, position);
                assert_eq!((placed.position, placed.counts), (expected, self.counts()));
            }
            Step::Pull => self.pull(store),
            Step::Defer(position) => match (self.active.take(), store.defer("later", position, None)) {
                (Some(plan), Ok(placed)) => {
                    assert_eq!(placed.id, plan.id);
                    let expected = self.place(plan, position);
                    assert_eq!((placed.position, placed.counts), (expected, self.counts()));
                }
                (None, Err(error)) => self.assert_no_active(&error, "defer"),
                (plan, result) => panic!("deferring {plan:?} gave {result:?}"),
            },
            Step::Complete => self.finish(store, Ending::Completed { outcome: "done" }, "complete"),
            Step::Discard => self.finish(store, Ending::Discarded { reason: "no need" }, "discard"),
            Step::Reopen => {}
        }
    }

    fn pull(&mut self, store: &mut SessionStore) {
        match (store.pull(None), &self.active) {
            (Ok(pulled), None) => {
                let plan = self.queue.pop_front().unwrap();
                assert_eq!(
                    (&pulled.id, &pulled.goal, pulled.counts, plan_text::parse(pulled.text.as_bytes()).unwrap().goal),
                    (&plan.id, &plan.goal, self.counts(), plan.goal.clone())
                );
                self.active = Some(plan);
            }
            (Err(Error::PlanAlreadyActive { id, goal, .. }), Some(active)) => {
                assert_eq!((&id, &goal), (&active.id, &active.goal));
            }
            (Err(Error::QueueEmpty { completed, ever_queued }), None) => {
                assert_eq!((0, completed, ever_queued), (self.queue.len(), self.history.len() as u64, self.added > 0));
            }
            (result, active) => panic!("pulling with {active:?} active gave {result:?}"),
        }
    }

    fn finish(&mut self, store: &mut SessionStore, ending: Ending<'_>, verb: &str) {
        match (self.active.take(), store.finish(ending, None)) {
            (Some(plan), Ok(finished)) => {
                assert_eq!(finished.id, plan.id);
                if matches!(ending, Ending::Completed { .. }) {
                    self.history.push(plan.id);
                }
                assert_eq!((finished.counts, finished.next.as_ref()), (self.counts(), self.queue.front()));
            }
            (None, Err(error)) => self.assert_no_active(&error, verb),
            (plan, result) => panic!("finishing {plan:?} gave {result:?}"),
        }
    }

    fn assert_no_active(&self, error: &Error, expected: &str) {
        let Error::NoActivePlan { verb, queued } = error else { panic!("{error}") };
        assert_eq!((*verb, *queued), (expected, self.counts().queued));
    }
}

fn seen(bench: &Bench, store: &mut SessionStore) -> Seen {
    let state = store.state().unwrap();
    Seen {
        queue: state.queue,
        counts: state.counts,
        active: state.active.map(|plan| QueuedPlan { id: plan.id, goal: plan.stored.goal }),
        history: bench.texts("SELECT id FROM plans WHERE status = 'completed' ORDER BY history_no"),
        files: bench.files.0.lock().unwrap().files.keys().cloned().collect(),
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let position = || prop_oneof![Just(Position::Front), Just(Position::Back)];
    prop_oneof![
        4 => position().prop_map(Step::Add),
        4 => Just(Step::Pull),
        2 => position().prop_map(Step::Defer),
        2 => Just(Step::Complete),
        1 => Just(Step::Discard),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sequence_of_transitions_does_what_a_plain_queue_does(steps in prop::collection::vec(any_step(), 1..40)) {
        let bench = Bench::new();
        let mut store = bench.open();
        let mut model = Model::default();
        for step in steps {
            if matches!(step, Step::Reopen) {
                drop(store);
                store = bench.open();
                prop_assert_eq!(store.take_repaired(), Vec::<String>::new());
            }
            model.step(&mut store, step);
            prop_assert_eq!(seen(&bench, &mut store), model.seen(), "after {:?}", step);
            prop_assert_eq!(store.audit().unwrap().issues, []);
        }
    }
}

#[test]
fn no_transition_rewrites_the_place_of_another_plan() {
    let bench = Bench::new();
    let mut store = bench.open();
    for number in 0..5 {
        add(&mut store, &format!("goal {number}"));
    }
    let places = || bench.rows("SELECT id, queue_position FROM plans WHERE status = 'queued' ORDER BY id");
    let apart_from = |rows: Vec<Vec<Value>>, id: &PlanId| -> Vec<Vec<Value>> {
        rows.into_iter().filter(|row| row[0] != Value::Text(id.to_string())).collect()
    };
    for position in [Position::Front, Position::Back, Position::Front, Position::Back] {
        let before = places();
        let added = store.add(&plan("another"), position, None).unwrap().id;
        assert_eq!(apart_from(places(), &added), before);

        let before = places();
        let pulled = store.pull(None).unwrap().id;
        assert_eq!(places(), apart_from(before, &pulled));

        let before = places();
        store.defer("later", position, None).unwrap();
        assert_eq!(apart_from(places(), &pulled), before);
    }
}

#[test]
fn a_plan_that_waited_at_the_front_comes_before_all_others() {
    let bench = Bench::new();
    let mut store = bench.open();
    let [first, second] = [add(&mut store, "first"), add(&mut store, "second")];
    let urgent = store.add(&plan("urgent"), Position::Front, None).unwrap();
    assert_eq!(urgent.position, 1);
    let order: Vec<PlanId> = store.state().unwrap().queue.into_iter().map(|plan| plan.id).collect();
    assert_eq!(order, [urgent.id, first, second]);
}

#[test]
fn a_long_queue_is_counted_whole_and_listed_up_to_a_hundred() {
    let bench = Bench::new();
    let mut store = bench.open();
    let ids: Vec<PlanId> = (0..QUEUE_SHOWN + 5).map(|number| add(&mut store, &format!("goal {number}"))).collect();
    let state = store.state().unwrap();
    let listed: Vec<PlanId> = state.queue.into_iter().map(|plan| plan.id).collect();
    assert_eq!((listed, state.counts), (ids[..100].to_vec(), Counts { queued: 105, completed: 0 }));
}

#[test]
fn each_transition_of_a_plan_leaves_an_event() {
    let bench = Bench::new();
    let mut store = bench.open();
    bench.next_ids(&["aaaaa", "bbbbb"]);
    let long = "x".repeat(300);
    let by = |client: &'static str| Some(client);
    store.add(&plan("one"), Position::Back, by("claude")).unwrap();
    store.add(&plan("two"), Position::Front, None).unwrap();
    store.pull(by("cursor")).unwrap();
    store.defer(&long, Position::Back, by("cursor")).unwrap();
    store.pull(None).unwrap();
    store.finish(Ending::Completed { outcome: "made it" }, by("codex")).unwrap();
    store.pull(None).unwrap();
    store.finish(Ending::Discarded { reason: "no need" }, None).unwrap();

    let text = |text: &str| Value::Text(text.to_owned());
    let clipped = format!("{}…", "x".repeat(197));
    let expected = [
        ["aaaaa", "created", "", "claude"],
        ["bbbbb", "created", "", ""],
        ["bbbbb", "pulled", "", "cursor"],
        ["bbbbb", "deferred", &clipped, "cursor"],
        ["aaaaa", "pulled", "", ""],
        ["aaaaa", "completed", "made it", "codex"],
        ["bbbbb", "pulled", "", ""],
        ["bbbbb", "discarded", "no need", ""],
    ];
    let expected: Vec<Vec<Value>> = expected
        .iter()
        .map(|row| row.iter().map(|cell| if cell.is_empty() { Value::Null } else { text(cell) }).collect())
        .collect();
    assert_eq!(bench.rows("SELECT plan_id, what, detail, client FROM events ORDER BY seq"), expected);
    let untimed = "SELECT plan_id FROM events WHERE at IS NOT strftime('%Y-%m-%d %H:%M:%S', at)";
    assert_eq!(bench.texts(untimed), Vec::<String>::new());
}

#[test]
fn what_the_file_says_is_what_is_stored_at_each_transition() {
    let bench = Bench::new();
    let mut store = bench.open();
    let edited = |round: &str| plan(&format!("edited {round}"));
    let rendered = |round: &str| plan_text::render(&edited(round)).into_bytes();

    let id = add(&mut store, "as queued");
    bench.set_file(&id, &rendered("before the pull"));
    let pulled = store.pull(None).unwrap();
    assert_eq!(
        (pulled.goal.as_str(), pulled.text.into_bytes()),
        ("edited before the pull", rendered("before the pull"))
    );

    bench.set_file(&id, &rendered("before the deferral"));
    store.defer("later", Position::Back, None).unwrap();
    assert_eq!(
        store.state().unwrap().queue,
        [QueuedPlan { id: id.clone(), goal: "edited before the deferral".into() }]
    );

    store.pull(None).unwrap();
    bench.set_file(&id, &rendered("before the end"));
    complete(&mut store, "done");
    let remembered = store.remembered(&id).unwrap();
    assert_eq!((remembered.plan, remembered.outcome.as_str()), (edited("before the end"), "done"));

    let id = activate(&mut store, "given up");
    bench.set_file(&id, &rendered("before giving up"));
    discard(&mut store, "no need");
    assert_eq!(
        bench.rows(&format!("SELECT goal, outcome, completed_at FROM plans WHERE id = '{id}'")),
        [[Value::Text("edited before giving up".into()), Value::Text("no need".into()), Value::Null]]
    );
}

/// The notes without the time in front of each deferral.
fn untimed(notes: &str) -> String {
    let line = |line: &str| match line.split_once("] Deferred: ") {
        Some((stamp, reason)) => {
            let shape: String = stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            assert_eq!(shape, "[0000-00-00 00:00");
            format!("Deferred: {reason}")
        }
        None => line.to_owned(),
    };
    notes.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_file_that_lost_sections_keeps_the_stored_goal_and_empties_the_others() {
    for (file, context) in [("# Context\nnew context\n", "new context"), ("# Goal\n \n\n# Context\n", ""), ("", "")] {
        let bench = Bench::new();
        let mut store = bench.open();
        let id = activate(&mut store, "the goal");
        bench.set_file(&id, file.as_bytes());
        store.defer("waits for the keys", Position::Back, None).unwrap();

        let stored = plan_text::parse(bench.file(&id).unwrap().as_bytes()).unwrap();
        assert_eq!(untimed(&stored.notes), "Deferred: waits for the keys", "{file:?}");
        let others = ["inputs", "outputs", "approach", "success_criteria"];
        assert_eq!(stored.sections()[2..6], [""; 4], "{file:?}");
        assert_eq!((stored.goal.as_str(), stored.context.as_str()), ("the goal", context), "{file:?}");
        let row = format!("SELECT goal, context, {} FROM plans", others.join(", "));
        let expected = ["the goal", context, "", "", "", ""].map(|text| Value::Text(text.into()));
        assert_eq!(bench.rows(&row), [expected], "{file:?}");
    }
}

#[test]
fn a_plan_deferred_twice_has_both_reasons_in_order() {
    let bench = Bench::new();
    let mut store = bench.open();
    let id = activate(&mut store, "the goal");
    store.defer("first", Position::Back, None).unwrap();
    store.pull(None).unwrap();
    store.defer("second", Position::Back, None).unwrap();
    let notes = plan_text::parse(bench.file(&id).unwrap().as_bytes()).unwrap().notes;
    assert_eq!(untimed(&notes), "the notes of the goal\n\nDeferred: first\n\nDeferred: second");
}

#[test]
fn a_plan_of_the_history_is_got_whole_and_any_other_is_said_to_be_elsewhere() {
    let bench = Bench::new();
    let mut store = bench.open();
    let completed = activate(&mut store, "completed");
    complete(&mut store, "done");
    let discarded = activate(&mut store, "discarded");
    discard(&mut store, "no need");
    let queued = add(&mut store, "queued");
    let active = activate(&mut store, "active");

    let remembered = store.remembered(&completed).unwrap();
    assert_eq!((remembered.plan, remembered.outcome), (plan("completed"), "done".into()));
    for time in [remembered.created_at, remembered.completed_at] {
        let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00Z");
    }
    let mut said = |id: &PlanId| store.remembered(id).unwrap_err().to_string();
    assert_eq!(said(&discarded), format!("Plan {discarded} is not in the history: it was discarded."));
    assert_eq!(said(&queued), format!("Plan {queued} is not in the history: it is still queued."));
    assert_eq!(said(&active), format!("Plan {active} is not in the history: it is the active plan."));
    assert_eq!(said(&plan_id("zzzzz")), "There is no plan zzzzz in this session.");
}
