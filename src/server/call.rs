//! One call of a tool, from the arguments as they came to the result as it goes out.
//!
//! Owns the frame of every reply and error, and the guard that keeps a panic from leaving the caller without an answer.
//! Knows no tool by name.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use super::arguments;
use super::routes::{Reply, Route};
use crate::error::Error;
use crate::plan::SessionName;
use crate::sessions::Sessions;
use crate::tools::{Call, Connection, Unnamed};

/// How many repairs a reply lists.
const REPAIRS_LISTED: usize = 20;

/// Who calls, and what a call of theirs means that names no session.
pub struct Caller {
    pub unnamed: Unnamed,
    /// The client's name, as it gives it.
    pub client: Option<String>,
    /// The session that the call names, as it came.
    pub named: Option<String>,
}

/// Runs a tool. None where the call was in haste and gave up, with nothing changed: it is to be made where it may take its
/// time.
///
/// # Errors
///
/// `-32603` where the handler panicked; every other failure is a result.
pub fn run(
    connection: &mut Connection,
    route: &Route,
    given: &JsonObject,
    caller: &Caller,
) -> Option<Result<CallToolResult, ErrorData>> {
    let mut call = Call::new(connection, caller.unnamed, caller.client.as_deref());
    // At the level of errors, so that it is there for them when nothing else is logged.
    let session = call.failed_session(caller.named.as_deref());
    let session = session.as_ref().map(SessionName::as_str);
    let _span = tracing::error_span!("call", tool = %route.tool.name, session).entered();
    // A call that panicked has changed nothing of a connection but its current session.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let checked = arguments::check(&route.tool.name, &route.tool.input_schema, given)?;
        match (route.run)(&mut call, checked.clone()) {
            // Nothing was changed, and what the session was opened with may be out of date.
            Err(error) if error.may_be_of_the_past() => {
                Sessions::takes_long()?;
                if !call.give_up() {
                    return Err(error);
                }
                tracing::warn!(%error, "trying once more with the session opened anew");
                (route.run)(&mut call, checked)
            }
            ran => ran,
        }
    }));
    Some(match ran {
        Ok(Ok(reply)) => Ok(success(call.session_name().as_ref(), call.repaired(), reply)),
        Ok(Err(_)) if Sessions::gave_up_in_haste() => return None,
        Ok(Err(error)) => {
            let session = match error {
                Error::SessionNotFound(_) => None,
                // What has failed is nothing of the current one.
                Error::FileSystem { .. } | Error::Database(_) if !route.is_about_session() => None,
                _ => call.failed_session(caller.named.as_deref()),
            };
            Ok(failure(session.as_ref(), &error, call.prefix()))
        }
        Err(_) => Err(broken()),
    })
}

/// The answer where the fault is ours.
pub fn broken() -> ErrorData {
    ErrorData::internal_error("The tool failed unexpectedly; the log says more.", None)
}

/// The result for a call that could not even be decoded: its arguments are no object.
pub fn not_an_object(connection: &mut Connection, route: &Route) -> CallToolResult {
    let call = Call::new(connection, Unnamed::Current, None);
    let error = Error::validation(
        "The arguments must be a JSON object.",
        format!("Call {} again with its arguments as an object.", route.tool.name),
    );
    failure(call.session_name().as_ref(), &error, call.prefix())
}

fn success(session: Option<&SessionName>, mut repaired: Vec<String>, reply: Reply) -> CallToolResult {
    let mut text = format!("{}\n\n{}", head(session), reply.text);
    let mut fields = reply.fields;
    fields.shift_insert(0, "session_name".to_owned(), json!(session));
    if !repaired.is_empty() {
        if repaired.len() > REPAIRS_LISTED {
            let all = repaired.len();
            repaired.truncate(REPAIRS_LISTED);
            repaired.push(format!("{} more (showing {REPAIRS_LISTED} of {all})", all - REPAIRS_LISTED));
        }
        text.push_str(&format!("\n\nRepaired: {}.", repaired.join("; ")));
        fields.insert("repaired".to_owned(), json!(repaired));
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(Value::Object(fields));
    result
}

fn failure(session: Option<&SessionName>, error: &Error, prefix: &str) -> CallToolResult {
    let text = format!(
        "{} Error: {}\n\n{error}\n\nSuggested action: {}",
        head(session),
        error.category(),
        error.suggestion(prefix)
    );
    match error {
        Error::FileSystem { .. } | Error::Database(_) => {
            tracing::error!(category = error.category(), %error, "call failed");
        }
        _ => {
            tracing::debug!(category = error.category(), %error, "call refused");
        }
    }
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn head(session: Option<&SessionName>) -> String {
    let name: &dyn Display = match session {
        Some(name) => name,
        None => &"none",
    };
    format!("[Session: {name}]")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rmcp::model::{ErrorCode, Tool};

    use super::*;
    use crate::error::DatabaseFault;
    use crate::files::DiskPlanFiles;
    use crate::ids::RandomIds;
    use crate::sessions::Sessions;
    use crate::tools::session;

    /// A connection to the sessions of a folder.
    fn connection(root: &Path) -> Connection {
        let sessions =
            Sessions::new(root.join("sessions"), Arc::new(RandomIds), |folder| Box::new(DiskPlanFiles::new(folder)));
        Connection::new(Arc::new(sessions), "9plan_".to_owned(), None)
    }

    const CALLER: Caller = Caller { unnamed: Unnamed::Current, client: None, named: None };

    #[test]
    fn a_call_is_made_once_more_only_where_a_session_can_be_opened_anew() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let root = tempfile::tempdir().unwrap();
        let mut connection = connection(root.path());
        for (opens, expected) in [(false, 1), (true, 2)] {
            MADE.store(0, Ordering::Relaxed);
            let route = Route {
                tool: Tool::new("9plan_test", "", JsonObject::new()),
                run: Box::new(move |call, _| {
                    MADE.fetch_add(1, Ordering::Relaxed);
                    if opens {
                        session::create(call, session::CreateArgs { task_description: None })?;
                    }
                    Err(Error::Database(DatabaseFault::NotASession("the test says so")))
                }),
            };
            let result = run(&mut connection, &route, &JsonObject::new(), &CALLER).unwrap().unwrap();
            assert_eq!((result.is_error, MADE.load(Ordering::Relaxed)), (Some(true), expected));
        }
    }

    #[test]
    fn a_panic_in_a_handler_is_answered_and_the_connection_goes_on() {
        let root = tempfile::tempdir().unwrap();
        let mut connection = connection(root.path());
        let route = |run: fn() -> Reply| Route {
            tool: Tool::new("9plan_test", "", JsonObject::new()),
            run: Box::new(move |_, _| Ok(run())),
        };
        let mut call = |route| run(&mut connection, &route, &JsonObject::new(), &CALLER).unwrap();

        let error = call(route(|| panic!("a fault of ours"))).unwrap_err();
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        let result = call(route(|| Reply { text: "well".to_owned(), fields: JsonObject::new() })).unwrap();
        assert_eq!(result.content, [ContentBlock::text("[Session: none]\n\nwell")]);
        assert_eq!(result.structured_content, Some(json!({ "session_name": null })));
    }
}
