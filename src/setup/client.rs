//! The clients that can be set up: where each keeps its configuration, and by what it is known to be there.
//!
//! Owns the paths on each system, as functions of the surroundings, so that a test needs none of these systems. Touches no
//! file.

use std::ffi::OsString;
use std::path::PathBuf;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    VsCode,
    Codex,
    Gemini,
    OpenCode,
    Copilot,
}

/// The kinds of systems on which clients keep their files in different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// And whatever else is like it.
    Linux,
    MacOs,
    Windows,
}

/// What the places depend on.
pub struct Surroundings<'a> {
    pub system: System,
    pub home: PathBuf,
    /// Looks up a variable of the environment that is set and not empty.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl System {
    /// The one that the program was made for.
    pub fn this() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

impl Surroundings<'_> {
    /// The folder that a variable names, else one below the home folder.
    fn folder(&self, variable: &str, usual: &str) -> PathBuf {
        (self.variable)(variable).map_or_else(|| self.home.join(usual), PathBuf::from)
    }

    /// The folder in which desktop programs keep their settings.
    fn settings(&self) -> PathBuf {
        match self.system {
            System::Linux => self.folder("XDG_CONFIG_HOME", ".config"),
            System::MacOs => self.home.join("Library").join("Application Support"),
            System::Windows => self.folder("APPDATA", "AppData/Roaming"),
        }
    }

    /// Where Claude Code keeps what is not in `.claude.json`.
    fn claude(&self) -> PathBuf {
        self.folder("CLAUDE_CONFIG_DIR", ".claude")
    }
}

impl Client {
    pub const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::Gemini,
        Self::OpenCode,
        Self::Copilot,
    ];

    /// The client as the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Copilot => "copilot",
        }
    }

    /// The client as its makers name it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::OpenCode => "opencode",
            Self::Copilot => "Copilot CLI",
        }
    }

    /// The files in which the client may keep its servers. The first that is there is meant; where none is, the first whose
    /// folder is there, else the first.
    pub fn files(self, at: &Surroundings<'_>) -> Vec<PathBuf> {
        match self {
            // In the folder that the variable names; else beside the client's own.
            Self::ClaudeCode => vec![at.folder("CLAUDE_CONFIG_DIR", "").join(".claude.json")],
            Self::ClaudeDesktop => {
                let usual = at.settings().join("Claude").join("claude_desktop_config.json");
                if at.system != System::Windows {
                    return vec![usual];
                }
                // Installed from the store, it sees a folder of its own in place of the usual one.
                let packages = at.folder("LOCALAPPDATA", "AppData/Local").join("Packages");
                let roaming = packages.join("Claude_pzs8sxrjxfjjc").join("LocalCache").join("Roaming");
                vec![roaming.join("Claude").join("claude_desktop_config.json"), usual]
            }
            Self::Cursor => vec![at.home.join(".cursor").join("mcp.json")],
            Self::VsCode => {
                let portable = (at.variable)("VSCODE_PORTABLE").map(|data| PathBuf::from(data).join("user-data"));
                let flavours = ["Code", "Code - Insiders", "VSCodium"].map(|flavour| at.settings().join(flavour));
                portable.into_iter().chain(flavours).map(|folder| folder.join("User").join("mcp.json")).collect()
            }
            Self::Codex => vec![at.folder("CODEX_HOME", ".codex").join("config.toml")],
            Self::Gemini => vec![at.folder("GEMINI_CLI_HOME", "").join(".gemini").join("settings.json")],
            Self::OpenCode => {
                // The same on every system.
                let folder = at.folder("XDG_CONFIG_HOME", ".config").join("opencode");
                ["opencode.json", "opencode.jsonc"].map(|name| folder.join(name)).into()
            }
            Self::Copilot => vec![at.folder("COPILOT_HOME", ".copilot").join("mcp-config.json")],
        }
    }

    /// A file that the client reads in place of those, where it is there.
    pub fn older_file(self, at: &Surroundings<'_>) -> Option<PathBuf> {
        (self == Self::ClaudeCode).then(|| at.claude().join(".config.json"))
    }

    /// The file of its hooks, where it has any of the kind that is answered here.
    pub fn hooks(self, at: &Surroundings<'_>) -> Option<PathBuf> {
        (self == Self::ClaudeCode).then(|| at.claude().join("settings.json"))
    }

    /// The programs by which the client is known to be there.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["claude"],
            Self::ClaudeDesktop => &[],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::VsCode => &["code", "code-insiders", "codium"],
            Self::Codex => &["codex"],
            Self::Gemini => &["gemini"],
            Self::OpenCode => &["opencode"],
            Self::Copilot => &["copilot"],
        }
    }

    /// The folders and files by which the client is known to have been there.
    pub fn traces(self, at: &Surroundings<'_>) -> Vec<PathBuf> {
        let mut traces = self.files(at);
        // The home folder is there anyway.
        if self == Self::ClaudeCode {
            traces.push(at.claude());
        } else {
            traces = traces.iter().filter_map(|file| file.parent()).map(PathBuf::from).collect();
        }
        traces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a client on a system, with these variables, with forward slashes.
    fn files(client: Client, system: System, variables: &[(&str, &str)]) -> Vec<String> {
        let home = if system == System::Windows { "C:/Users/ada" } else { "/home/ada" };
        let variable = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into());
        let at = Surroundings { system, home: home.into(), variable: &variable };
        let others = client.older_file(&at).into_iter().chain(client.hooks(&at));
        client.files(&at).into_iter().chain(others).map(|path| path.to_str().unwrap().replace('\\', "/")).collect()
    }

    #[test]
    fn claude_code_keeps_its_servers_beside_its_folder_unless_a_variable_names_one() {
        for (system, home) in
            [(System::Linux, "/home/ada"), (System::MacOs, "/home/ada"), (System::Windows, "C:/Users/ada")]
        {
            let expected = ["/.claude.json", "/.claude/.config.json", "/.claude/settings.json"];
            assert_eq!(files(Client::ClaudeCode, system, &[]), expected.map(|path| format!("{home}{path}")));
            let moved = files(Client::ClaudeCode, system, &[("CLAUDE_CONFIG_DIR", "/d")]);
            assert_eq!(moved, ["/d/.claude.json", "/d/.config.json", "/d/settings.json"]);
        }
    }

    #[test]
    fn desktop_programs_follow_the_system() {
        let desktop = |system, variables: &[(&str, &str)]| files(Client::ClaudeDesktop, system, variables);
        let name = "Claude/claude_desktop_config.json";
        assert_eq!(desktop(System::Linux, &[]), [format!("/home/ada/.config/{name}")]);
        assert_eq!(desktop(System::Linux, &[("XDG_CONFIG_HOME", "/x")]), [format!("/x/{name}")]);
        assert_eq!(desktop(System::MacOs, &[]), [format!("/home/ada/Library/Application Support/{name}")]);
        let packaged = "Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming";
        assert_eq!(
            desktop(System::Windows, &[]),
            [format!("C:/Users/ada/AppData/Local/{packaged}/{name}"), format!("C:/Users/ada/AppData/Roaming/{name}")]
        );
        assert_eq!(
            desktop(System::Windows, &[("APPDATA", "D:/R"), ("LOCALAPPDATA", "D:/L")]),
            [format!("D:/L/{packaged}/{name}"), format!("D:/R/{name}")]
        );

        let code =
            |folder: &str| ["Code", "Code - Insiders", "VSCodium"].map(|it| format!("{folder}/{it}/User/mcp.json"));
        assert_eq!(files(Client::VsCode, System::Linux, &[]), code("/home/ada/.config"));
        assert_eq!(files(Client::VsCode, System::Linux, &[("XDG_CONFIG_HOME", "/x")]), code("/x"));
        assert_eq!(files(Client::VsCode, System::MacOs, &[]), code("/home/ada/Library/Application Support"));
        assert_eq!(files(Client::VsCode, System::Windows, &[]), code("C:/Users/ada/AppData/Roaming"));
        let portable = files(Client::VsCode, System::Linux, &[("VSCODE_PORTABLE", "/p")]);
        assert_eq!(portable[0], "/p/user-data/User/mcp.json");
    }

    #[test]
    fn command_line_programs_keep_a_folder_in_the_home_folder_on_every_system() {
        for (client, usual, variable, moved) in [
            (Client::Cursor, vec!["/.cursor/mcp.json"], "", vec![]),
            (Client::Codex, vec!["/.codex/config.toml"], "CODEX_HOME", vec!["/m/config.toml"]),
            (Client::Gemini, vec!["/.gemini/settings.json"], "GEMINI_CLI_HOME", vec!["/m/.gemini/settings.json"]),
            (
                Client::OpenCode,
                vec!["/.config/opencode/opencode.json", "/.config/opencode/opencode.jsonc"],
                "XDG_CONFIG_HOME",
                vec!["/m/opencode/opencode.json", "/m/opencode/opencode.jsonc"],
            ),
            (Client::Copilot, vec!["/.copilot/mcp-config.json"], "COPILOT_HOME", vec!["/m/mcp-config.json"]),
        ] {
            for (system, home) in
                [(System::Linux, "/home/ada"), (System::MacOs, "/home/ada"), (System::Windows, "C:/Users/ada")]
            {
                let expected: Vec<String> = usual.iter().map(|path| format!("{home}{path}")).collect();
                assert_eq!(files(client, system, &[]), expected);
                if !moved.is_empty() {
                    assert_eq!(files(client, system, &[(variable, "/m")]), moved);
                }
            }
        }
    }
}
