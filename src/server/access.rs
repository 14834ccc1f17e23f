//! Who may speak to the server over HTTP.
//!
//! Owns the checks of `Host`, `Origin` and the token. A page in a browser can be made to send requests to a server on the
//! same machine: by its own name, or by a name that it lets point here (DNS rebinding). Pure; knows no protocol.

use std::fmt;
use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use subtle::ConstantTimeEq;

/// The host that is served: a name in lower case, or an address without brackets.
#[derive(Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// A host as a person writes it; none where it is neither a name nor an address.
    pub fn parse(text: &str) -> Option<Self> {
        let host = plain(text);
        let name = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
        (host.contains(|c: char| c.is_ascii_alphanumeric()) && name || address(&host).is_some()).then_some(Self(host))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether only this machine can reach it.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Whether a name is one of the server's own: the one that is configured, or one of this machine for itself.
    fn is_own(&self, name: &str) -> bool {
        let name = plain(name);
        name == self.0 || is_loopback(&name)
    }

    /// Whether a client may call the server by this name. Where every address of the machine is served, any address will
    /// do: what a page can make point here is a name.
    fn is_called(&self, name: &str) -> bool {
        let everywhere = address(&self.0).is_some_and(|address| address.is_unspecified());
        self.is_own(name) || (everywhere && address(&plain(name)).is_some())
    }
}

fn plain(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn address(host: &str) -> Option<IpAddr> {
    host.parse().ok()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || address(host).is_some_and(|address| address.is_loopback())
}

/// What a client must show.
#[derive(PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token")
    }
}

impl Token {
    /// A token that a header can carry: visible ASCII.
    pub fn parse(text: &str) -> Option<Self> {
        (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    /// Whether a request shows the token. Takes as long for a wrong one as for the right one of the same length.
    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let shown = only(headers, &AUTHORIZATION).and_then(|value| value.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        shown.is_some_and(|shown| shown.as_bytes().ct_eq(self.0.as_bytes()).into())
    }
}

/// What is asked of a request before it is read.
#[derive(Debug, PartialEq, Eq)]
pub struct Access {
    pub host: Host,
    pub token: Option<Token>,
}

impl Access {
    /// Looks at a request.
    ///
    /// # Errors
    ///
    /// The status and the words with which it is refused.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        if !self.knows_host(uri, headers) {
            let hint = "Host is not allowed: call the server by a loopback name, or by the one in NINEPLAN_HTTP_HOST";
            return Err((StatusCode::FORBIDDEN, hint));
        }
        if headers.contains_key(ORIGIN) && !only(headers, &ORIGIN).is_some_and(|origin| self.knows_origin(origin)) {
            return Err((StatusCode::FORBIDDEN, "Origin is not allowed"));
        }
        if !self.token.as_ref().is_none_or(|token| token.is_shown(headers)) {
            return Err((StatusCode::UNAUTHORIZED, "Authorization: Bearer, with the server's token, is required"));
        }
        Ok(())
    }

    fn knows_host(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let known = |authority: &Authority| is_plain(authority) && self.host.is_called(authority.host());
        // A request to a proxy names the host in its target, HTTP/2 only there; where both are given both must be right.
        let host = only(headers, &HOST).and_then(|host| Authority::try_from(host).ok());
        let named = if headers.contains_key(HOST) { host.as_ref() } else { uri.authority() };
        named.is_some_and(known) && uri.authority().is_none_or(known)
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let Ok(origin) = Uri::try_from(origin) else { return false };
        let of_web = matches!(origin.scheme_str(), Some("http" | "https"));
        of_web && origin.authority().is_some_and(|it| is_plain(it) && self.host.is_own(it.host()))
    }
}

/// Whether there is nothing but a host and perhaps a port: no name of a user, behind which a host could hide.
fn is_plain(authority: &Authority) -> bool {
    !authority.as_str().contains('@')
}

/// The value of a header that stands there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn access(host: &str, token: Option<&str>) -> Access {
        Access { host: Host::parse(host).unwrap(), token: token.map(|token| Token::parse(token).unwrap()) }
    }

    fn status(access: &Access, headers: &[(HeaderName, &str)]) -> u16 {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect();
        access.check(&Uri::from_static("/mcp"), &headers).map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    #[test]
    fn hosts_are_names_and_addresses() {
        for (text, host) in [
            ("LocalHost.", Some("localhost")),
            ("[::1]", Some("::1")),
            ("::", Some("::")),
            ("plans.example.com", Some("plans.example.com")),
            ("0.0.0.0", Some("0.0.0.0")),
            ("127.0.0.1:8080", None),
            ("http://localhost", None),
            ("a b", None),
            ("", None),
            (".", None),
            ("..", None),
            ("-", None),
        ] {
            assert_eq!(Host::parse(text).map(|host| host.0).as_deref(), host, "{text}");
        }
        for (host, loopback) in
            [("localhost", true), ("127.9.9.9", true), ("::1", true), ("0.0.0.0", false), ("::", false), ("a.b", false)]
        {
            assert_eq!(Host::parse(host).unwrap().is_loopback(), loopback, "{host}");
        }
    }

    #[test]
    fn a_client_calls_the_server_by_a_name_of_its_own() {
        let hosts = [
            ("127.0.0.1:8080", [200, 200, 200]),
            ("localhost", [200, 200, 200]),
            ("LOCALHOST:1", [200, 200, 200]),
            ("localhost.:1", [200, 200, 200]),
            ("[::1]:8080", [200, 200, 200]),
            ("plans.example.com", [403, 200, 403]),
            ("Plans.Example.com:443", [403, 200, 403]),
            ("192.168.1.5:8080", [403, 403, 200]),
            ("evil.example", [403, 403, 403]),
            ("localhost.evil.example", [403, 403, 403]),
            ("evil.example:8080@localhost", [403, 403, 403]),
            ("127.0.0.1.evil.example", [403, 403, 403]),
            ("", [403, 403, 403]),
        ];
        for (name, expected) in hosts {
            let served = ["localhost", "plans.example.com", "0.0.0.0"].map(|host| access(host, None));
            assert_eq!(served.each_ref().map(|access| status(access, &[(HOST, name)])), expected, "{name:?}");
        }
        let local = access("localhost", None);
        assert_eq!(status(&local, &[]), 403);
        let mut twice = HeaderMap::new();
        twice.append(HOST, HeaderValue::from_static("localhost"));
        twice.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(local.check(&Uri::from_static("/mcp"), &twice).is_err());
        assert!(local.check(&Uri::from_static("http://localhost/mcp"), &HeaderMap::new()).is_ok());
        let host = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        assert!(local.check(&Uri::from_static("http://localhost/mcp"), &host).is_ok());
        assert!(local.check(&Uri::from_static("http://evil.example/mcp"), &host).is_err());
        assert!(local.check(&Uri::from_static("http://localhost/mcp"), &twice).is_err());
    }

    #[test]
    fn a_page_may_call_only_from_the_server_s_own_names() {
        let local = access("localhost", None);
        for (origin, expected) in [
            ("http://localhost:3000", 200),
            ("https://127.0.0.1", 200),
            ("http://[::1]:5", 200),
            ("http://evil.example", 403),
            ("http://localhost.evil.example", 403),
            ("null", 403),
            ("", 403),
            ("localhost", 403),
            ("file://localhost", 403),
            ("http://evil.example@localhost", 403),
        ] {
            assert_eq!(status(&local, &[(HOST, "localhost"), (ORIGIN, origin)]), expected, "{origin:?}");
        }
        // A page may come from anybody's address.
        let open = access("0.0.0.0", None);
        assert_eq!(status(&open, &[(HOST, "192.168.1.5"), (ORIGIN, "http://203.0.113.5")]), 403);
        assert_eq!(status(&open, &[(HOST, "192.168.1.5"), (ORIGIN, "http://localhost")]), 200);
        let named = access("plans.example.com", None);
        assert_eq!(status(&named, &[(HOST, "plans.example.com"), (ORIGIN, "https://plans.example.com")]), 200);
    }

    #[test]
    fn with_a_token_it_must_be_shown() {
        let local = access("localhost", Some("s3cret"));
        for (shown, expected) in [
            ("Bearer s3cret", 200),
            ("bearer  s3cret", 200),
            ("Bearer s3cre", 401),
            ("Bearer s3crets", 401),
            ("Bearer S3CRET", 401),
            ("Bearer", 401),
            ("Basic s3cret", 401),
            ("s3cret", 401),
            ("", 401),
        ] {
            assert_eq!(status(&local, &[(HOST, "localhost"), (AUTHORIZATION, shown)]), expected, "{shown:?}");
        }
        assert_eq!(status(&local, &[(HOST, "localhost")]), 401);
        assert_eq!(status(&local, &[(HOST, "evil.example"), (AUTHORIZATION, "Bearer s3cret")]), 403);
        let headers = [(HOST, "localhost"), (AUTHORIZATION, "Bearer s3cret"), (AUTHORIZATION, "Bearer x")];
        let twice: HeaderMap = headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).fold(
            HeaderMap::new(),
            |mut all, (name, value)| {
                all.append(name, value);
                all
            },
        );
        assert!(local.check(&Uri::from_static("/mcp"), &twice).is_err());
    }

    #[test]
    fn a_token_can_be_carried_and_is_not_printed() {
        assert_eq!(Token::parse(""), None);
        assert_eq!(Token::parse("two words"), None);
        assert_eq!(Token::parse("caf\u{e9}"), None);
        assert_eq!(format!("{:?}", access("localhost", Some("s3cret"))).find("s3cret"), None);
    }
}
