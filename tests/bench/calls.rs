//! The calls of an ordinary session: ten plans in the queue, one active, some done.

use std::collections::VecDeque;

use serde_json::json;

use super::Depth;
use super::client::{Client, folder, text};
use super::corpus::Corpus;
use super::floor::{Database, Files};
use super::report::{Budget, Figure, Samples, Unit};

const QUEUED: usize = 10;

/// Each call beside what it could not do without, one of each by turns: the disk is the same for both then.
pub fn ordinary(depth: &Depth) -> Vec<Figure> {
    let root = folder();
    let mut corpus = Corpus::of(depth.rounds);
    let queued: Vec<_> = (0..QUEUED).map(|_| corpus.plan()).collect();
    let mut client = Client::start(root.path());
    let bare = client.create(&queued);
    let (_, state) = client.call("admin_state", json!({}));
    // A database has its own counts of what was written to it, so that both have to be as old.
    client.end();
    let items = state["queue"].as_array().into_iter().flatten().map(|item| text(item, "id"));
    let queue: VecDeque<_> = items.zip(queued.iter().cloned()).collect();
    let mut database = Database::open(&root.path().join(&bare), queue);
    let files = Files(root.path().join(&bare).join("plans"));
    let mut client = Client::start(root.path());
    let session = client.create(&queued);

    let [mut ping, mut add, mut pull, mut defer, mut resume, mut state, mut complete] = <[Samples; 7]>::default();
    let [mut bare_add, mut bare_pull, mut bare_defer, mut bare_state, mut bare_complete] = <[Samples; 5]>::default();
    let [mut put, mut rewrite, mut take] = <[Samples; 3]>::default();
    let name = json!({ "session_name": session });
    let call = |client: &mut Client, samples: &mut Samples, tool: &str, arguments| {
        samples.add(client.call(tool, arguments).0);
    };
    for _ in 0..depth.rounds {
        let plan = corpus.plan();
        ping.add(client.ping());
        call(&mut client, &mut add, "queue_add", plan.arguments());
        bare_add.add(database.add(&plan));
        put.add(files.put("bare.txt", &plan.text()));
        call(&mut client, &mut pull, "queue_pull", json!({}));
        bare_pull.add(database.pull());
        call(&mut client, &mut defer, "plan_defer", json!({ "reason": "Something else comes first" }));
        bare_defer.add(database.defer("[2026-01-01 00:00] Deferred: Something else comes first"));
        rewrite.add(files.rewrite("bare.txt", "[2026-01-01 00:00] Deferred: Something else comes first\n"));
        call(&mut client, &mut pull, "queue_pull", json!({}));
        bare_pull.add(database.pull());
        ping.add(client.ping());
        call(&mut client, &mut resume, "session_resume", name.clone());
        bare_state.add(database.state());
        call(&mut client, &mut state, "admin_state", json!({}));
        bare_state.add(database.state());
        ping.add(client.ping());
        call(&mut client, &mut complete, "plan_complete", json!({ "outcome": plan.outcome }));
        bare_complete.add(database.complete());
        take.add(files.take("bare.txt"));
    }
    client.end();
    vec![
        Figure::timed("queue_add", &add, &[&ping, &bare_add, &put], Budget::Times(1.3)),
        Figure::timed("plan_defer", &defer, &[&ping, &bare_defer, &rewrite], Budget::Times(1.3)),
        Figure::timed("plan_complete", &complete, &[&ping, &bare_complete, &take], Budget::Times(1.3)),
        Figure::timed("queue_pull", &pull, &[&ping, &bare_pull], Budget::Times(1.5)),
        Figure::timed("session_resume", &resume, &[&ping, &bare_state], Budget::Times(1.5)),
        Figure::timed("admin_state", &state, &[&ping, &bare_state], Budget::Times(1.5)),
    ]
}

/// How many plans a second one client adds that does not wait for the answers, beside one that does.
pub fn pipelined(depth: &Depth) -> Vec<Figure> {
    let root = folder();
    let mut corpus = Corpus::of(depth.rounds);
    let mut client = Client::start(root.path());
    client.create([]);
    let mut per_second = [Vec::new(), Vec::new()];
    for _ in 0..depth.turns {
        let plans: Vec<_> = (0..depth.pipelined).map(|_| corpus.plan().arguments()).collect();
        let waiting: f64 = plans.iter().map(|plan| client.call("queue_add", plan.clone()).0.as_secs_f64()).sum();
        let pipelined = client.pipelined("queue_add", plans).as_secs_f64();
        for (all, took) in per_second.iter_mut().zip([waiting, pipelined]) {
            all.push(depth.pipelined as f64 / took);
        }
    }
    client.end();
    let [waiting, pipelined] = per_second.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    vec![Figure::plain("queue_add, pipelined", Unit::PerSecond, pipelined, Some(waiting), Budget::NoLess)]
}

/// Adding to a long queue beside adding to a short one.
pub fn long_queue(depth: &Depth) -> Vec<Figure> {
    let root = folder();
    let mut corpus = Corpus::of(depth.queue);
    let mut client = Client::start(root.path());
    let short = client.create(std::iter::repeat_with(|| corpus.plan()).take(QUEUED).collect::<Vec<_>>().iter());
    let long = super::history::queued(&mut client, &mut corpus, depth.queue);
    let [mut to_short, mut to_long] = <[Samples; 2]>::default();
    for _ in 0..depth.rounds {
        let arguments = corpus.plan().arguments();
        for (session, samples) in [(&short, &mut to_short), (&long, &mut to_long)] {
            let mut arguments = arguments.clone();
            arguments["session_name"] = json!(session);
            samples.add(client.call("queue_add", arguments).0);
        }
    }
    client.end();
    let name = format!("queue_add, {} queued, beside {QUEUED}", depth.queue);
    vec![Figure::timed(name, &to_long, &[&to_short], Budget::Times(1.2))]
}
