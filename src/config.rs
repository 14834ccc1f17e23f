//! The configuration: environment variables named `NINEPLAN_*`, and those by which a client says where it works.
//!
//! Owns their names, defaults and allowed values. A pure function of a look-up, so that a test needs no environment; this
//! is the only module that reads the real one.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::server::access::{Access, Host, Token};
use crate::server::http::Endpoint;

const HOST: &str = "NINEPLAN_HTTP_HOST";

/// The sets of tools that there are.
const TOOLSETS: [&str; 1] = ["core"];

/// What the program was told to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Config {
    /// Absolute; need not exist.
    pub sessions_root: PathBuf,
    pub log_level: LogLevel,
    pub transport: Transport,
    /// What the names of the tools begin with.
    pub tool_prefix: String,
    /// The folder of the project that the client works on, as it says; absolute.
    pub project: Option<PathBuf>,
    /// The folder that the process was started in.
    pub current: Option<PathBuf>,
    /// The id that the client has for the conversation.
    pub conversation: Option<String>,
    /// The client's process, of which it tells its hooks.
    pub client_process: Option<u32>,
    /// Whether a terminal may be written to in colour: `NO_COLOR` is unset or empty (<https://no-color.org>).
    pub colour: bool,
}

/// The least serious events that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// How clients reach the server.
#[derive(Debug, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http(Endpoint),
}

/// A variable with a value that is not allowed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?} is not allowed: {allowed}")]
pub struct BadVariable {
    variable: &'static str,
    value: String,
    allowed: String,
}

/// Where the defaults come from.
#[derive(Debug, Default)]
pub struct Places {
    pub home: Option<PathBuf>,
    /// The folder for a user's data.
    pub data: Option<PathBuf>,
    /// What a relative path is relative to.
    pub current: Option<PathBuf>,
}

impl Config {
    /// Reads the environment of the process, in which some variables may have been given other values.
    ///
    /// # Errors
    ///
    /// The first variable whose value is not allowed.
    pub fn from_env(given: &[(String, String)]) -> Result<Self, BadVariable> {
        let base = directories::BaseDirs::new();
        let places = Places {
            home: base.as_ref().map(|base| base.home_dir().to_owned()),
            data: base.as_ref().map(|base| base.data_local_dir().to_owned()),
            current: env::current_dir().ok(),
        };
        let given = |name: &str| given.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.into());
        Self::read(|name| given(name).or_else(|| env::var_os(name)), &places)
    }

    /// Reads the configuration from a look-up of variables.
    ///
    /// # Errors
    ///
    /// The first variable whose value is not allowed.
    pub fn read(lookup: impl Fn(&str) -> Option<OsString>, places: &Places) -> Result<Self, BadVariable> {
        let value = |variable| set(lookup(variable));
        let sessions_root = sessions_root(value("NINEPLAN_SESSIONS_PATH"), places)?;
        let log_level = log_level(value("NINEPLAN_LOG_LEVEL"))?;
        let endpoint = Endpoint {
            access: Access { host: host(value(HOST))?, token: token(value("NINEPLAN_HTTP_TOKEN"))? },
            port: port(value("NINEPLAN_HTTP_PORT"))?,
        };
        let transport = transport(value("NINEPLAN_TRANSPORT"), endpoint)?;
        let tool_prefix = tool_prefix(value("NINEPLAN_TOOL_PREFIX"))?;
        toolsets(value("NINEPLAN_TOOLSETS"))?;
        // Claude Code says so to the servers and hooks that it starts.
        let project = value("CLAUDE_PROJECT_DIR").map(PathBuf::from);
        let project = match &places.current {
            Some(current) => project.map(|project| current.join(project)),
            None => project.filter(|project| project.is_absolute()),
        };
        let current = places.current.clone();
        let conversation = value("CLAUDE_CODE_SESSION_ID").map(|id| id.to_string_lossy().into_owned());
        let client_process = value("CLAUDE_PID").and_then(|number| number.to_str()?.parse().ok());
        let colour = lookup("NO_COLOR").is_none_or(|value| value.is_empty());
        Ok(Self {
            sessions_root,
            log_level,
            transport,
            tool_prefix,
            project,
            current,
            conversation,
            client_process,
            colour,
        })
    }
}

/// A variable of the process's environment that is set.
pub fn variable(name: &str) -> Option<OsString> {
    set(env::var_os(name))
}

/// The user's home folder.
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|base| base.home_dir().to_owned())
}

/// The value, unless it is empty or a client left a placeholder in it that it did not know.
fn set(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty() && !value.to_string_lossy().contains("${"))
}

fn bad(variable: &'static str, value: &str, allowed: impl Into<String>) -> BadVariable {
    BadVariable { variable, value: value.to_owned(), allowed: allowed.into() }
}

fn sessions_root(value: Option<OsString>, places: &Places) -> Result<PathBuf, BadVariable> {
    const VARIABLE: &str = "NINEPLAN_SESSIONS_PATH";
    let Some(value) = value else {
        let data = places.data.as_ref();
        return data
            .map(|data| data.join("9plan").join("sessions"))
            .ok_or_else(|| bad(VARIABLE, "", "there is no home folder, so give an absolute path"));
    };
    let path = Path::new(&value);
    // Clients hand variables over as they stand in a file, where no shell has seen them.
    let path = match (path.strip_prefix("~"), &places.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    };
    if path.is_absolute() {
        return Ok(path);
    }
    let current = places.current.as_ref();
    current
        .map(|current| current.join(&path))
        .ok_or_else(|| bad(VARIABLE, &value.to_string_lossy(), "give an absolute path"))
}

fn log_level(value: Option<OsString>) -> Result<LogLevel, BadVariable> {
    let Some(value) = value else { return Ok(LogLevel::Info) };
    match value.to_str() {
        Some("debug") => Ok(LogLevel::Debug),
        Some("info") => Ok(LogLevel::Info),
        Some("warn") => Ok(LogLevel::Warn),
        Some("error") => Ok(LogLevel::Error),
        _ => Err(bad("NINEPLAN_LOG_LEVEL", &value.to_string_lossy(), "use debug, info, warn or error")),
    }
}

fn transport(value: Option<OsString>, endpoint: Endpoint) -> Result<Transport, BadVariable> {
    match value.as_ref().map(|value| value.to_str()) {
        None | Some(Some("stdio")) => Ok(Transport::Stdio),
        Some(Some("http")) if endpoint.access.token.is_none() && !endpoint.access.host.is_loopback() => {
            Err(bad(HOST, endpoint.access.host.as_str(), "set NINEPLAN_HTTP_TOKEN too, or use a loopback host"))
        }
        Some(Some("http")) => Ok(Transport::Http(endpoint)),
        _ => Err(bad("NINEPLAN_TRANSPORT", &value.unwrap_or_default().to_string_lossy(), "use stdio or http")),
    }
}

fn host(value: Option<OsString>) -> Result<Host, BadVariable> {
    let value = value.unwrap_or_else(|| "127.0.0.1".into());
    value
        .to_str()
        .and_then(Host::parse)
        .ok_or_else(|| bad(HOST, &value.to_string_lossy(), "use the name or the address of a host, such as 127.0.0.1"))
}

fn port(value: Option<OsString>) -> Result<u16, BadVariable> {
    let Some(value) = value else { return Ok(8080) };
    let port = value.to_str().and_then(|text| text.parse().ok());
    port.ok_or_else(|| bad("NINEPLAN_HTTP_PORT", &value.to_string_lossy(), "use a number from 0 to 65535"))
}

fn token(value: Option<OsString>) -> Result<Option<Token>, BadVariable> {
    let Some(value) = value else { return Ok(None) };
    match value.to_str().and_then(Token::parse) {
        Some(token) => Ok(Some(token)),
        // Not the value: it is a secret, and where a client's log goes nobody knows.
        None => Err(bad("NINEPLAN_HTTP_TOKEN", "…", "use letters, digits and signs of ASCII, without spaces")),
    }
}

fn tool_prefix(value: Option<OsString>) -> Result<String, BadVariable> {
    let Some(value) = value else { return Ok("9plan_".to_owned()) };
    let allowed = |text: &&str| {
        text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    value.to_str().filter(allowed).map(str::to_owned).ok_or_else(|| {
        bad("NINEPLAN_TOOL_PREFIX", &value.to_string_lossy(), "use up to 20 letters A-Z and a-z, digits, _ and -")
    })
}

fn toolsets(value: Option<OsString>) -> Result<(), BadVariable> {
    let Some(value) = value else { return Ok(()) };
    let text = value.to_string_lossy();
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() || names.iter().any(|name| !TOOLSETS.contains(name)) {
        let allowed = format!("use a comma-separated list of: {}", TOOLSETS.join(", "));
        return Err(bad("NINEPLAN_TOOLSETS", &text, allowed));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config, BadVariable> {
        let places = Places {
            home: Some("/home/ada".into()),
            data: Some("/home/ada/data".into()),
            current: Some("/project".into()),
        };
        let lookup = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into());
        Config::read(lookup, &places)
    }

    fn defaults() -> Config {
        Config {
            sessions_root: "/home/ada/data/9plan/sessions".into(),
            log_level: LogLevel::Info,
            transport: Transport::Stdio,
            tool_prefix: "9plan_".into(),
            project: None,
            current: Some("/project".into()),
            conversation: None,
            client_process: None,
            colour: true,
        }
    }

    #[test]
    fn nothing_set_empty_and_unexpanded_all_give_the_defaults() {
        let names = [
            "NINEPLAN_SESSIONS_PATH",
            "NINEPLAN_LOG_LEVEL",
            "NINEPLAN_TRANSPORT",
            "NINEPLAN_HTTP_HOST",
            "NINEPLAN_HTTP_PORT",
            "NINEPLAN_HTTP_TOKEN",
            "NINEPLAN_TOOL_PREFIX",
            "NINEPLAN_TOOLSETS",
            "CLAUDE_PROJECT_DIR",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_PID",
        ];
        assert_eq!(read(&[]), Ok(defaults()));
        assert_eq!(read(&names.map(|name| (name, ""))), Ok(defaults()));
        assert_eq!(read(&names.map(|name| (name, "${HOME}/x"))), Ok(defaults()));
    }

    #[test]
    fn values_are_taken_and_paths_made_absolute() {
        let config = read(&[
            ("NINEPLAN_SESSIONS_PATH", "~/plans"),
            ("NINEPLAN_LOG_LEVEL", "debug"),
            ("NINEPLAN_TRANSPORT", "stdio"),
            ("NINEPLAN_TOOL_PREFIX", "nineplan_"),
            ("NINEPLAN_TOOLSETS", "core"),
            ("CLAUDE_PROJECT_DIR", "app"),
            ("CLAUDE_CODE_SESSION_ID", "c-1"),
            ("CLAUDE_PID", "7"),
            ("NO_COLOR", "1"),
        ]);
        let expected = Config {
            sessions_root: "/home/ada/plans".into(),
            log_level: LogLevel::Debug,
            transport: Transport::Stdio,
            tool_prefix: "nineplan_".into(),
            project: Some("/project/app".into()),
            current: Some("/project".into()),
            conversation: Some("c-1".into()),
            client_process: Some(7),
            colour: false,
        };
        assert_eq!(config, Ok(expected));
        assert_eq!(read(&[("NINEPLAN_SESSIONS_PATH", "here")]).unwrap().sessions_root, Path::new("/project/here"));
    }

    #[test]
    fn a_bad_value_names_the_variable_the_value_and_what_is_allowed() {
        for (name, value, allowed) in [
            ("NINEPLAN_LOG_LEVEL", "loud", "use debug, info, warn or error"),
            ("NINEPLAN_TRANSPORT", "carrier-pigeon", "use stdio or http"),
            ("NINEPLAN_HTTP_HOST", "http://a", "use the name or the address of a host, such as 127.0.0.1"),
            ("NINEPLAN_HTTP_PORT", "65536", "use a number from 0 to 65535"),
            ("NINEPLAN_HTTP_PORT", "-1", "use a number from 0 to 65535"),
            ("NINEPLAN_TOOL_PREFIX", "my plan.", "use up to 20 letters A-Z and a-z, digits, _ and -"),
            ("NINEPLAN_TOOLSETS", "core,steps", "use a comma-separated list of: core"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert_eq!(error, format!("{name}={value:?} is not allowed: {allowed}"));
        }
    }

    #[test]
    fn http_is_served_where_and_to_whom_it_is_said() {
        let endpoint = |host: &str, port, token: Option<&str>| {
            let access = Access { host: Host::parse(host).unwrap(), token: token.and_then(Token::parse) };
            Ok(Transport::Http(Endpoint { access, port }))
        };
        let http = |variables: &[(&str, &str)]| {
            read(&[&[("NINEPLAN_TRANSPORT", "http")], variables].concat())
                .map(|config| config.transport)
                .map_err(|error| error.to_string())
        };
        assert_eq!(http(&[]), endpoint("127.0.0.1", 8080, None));
        let (host, port, token) = ("NINEPLAN_HTTP_HOST", "NINEPLAN_HTTP_PORT", "NINEPLAN_HTTP_TOKEN");
        assert_eq!(http(&[(host, "[::1]"), (port, "0")]), endpoint("::1", 0, None));
        let all = [(host, "plans.example.com"), (port, "443"), (token, "s3cret")];
        assert_eq!(http(&all), endpoint("plans.example.com", 443, Some("s3cret")));
        for open in ["0.0.0.0", "::", "plans.example.com", "192.168.1.5"] {
            let refused =
                format!("{host}={open:?} is not allowed: set NINEPLAN_HTTP_TOKEN too, or use a loopback host");
            assert_eq!(http(&[(host, open)]), Err(refused));
            assert_eq!(read(&[(host, open)]).unwrap().transport, Transport::Stdio, "not served, so nobody's business");
        }
    }

    #[test]
    fn a_bad_token_is_not_repeated() {
        let error = read(&[("NINEPLAN_HTTP_TOKEN", "my secret")]).unwrap_err().to_string();
        let allowed = "use letters, digits and signs of ASCII, without spaces";
        assert_eq!(error, format!("NINEPLAN_HTTP_TOKEN=\"…\" is not allowed: {allowed}"));
    }
}
