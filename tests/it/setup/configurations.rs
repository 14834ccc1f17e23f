//! The configuration of each client as somebody has it, with the comments, the order and the odd layout that a hand leaves.

/// Where a client keeps its servers in a home folder on Linux, a file as somebody has it, and the same after it is set up.
/// `PROGRAM` stands for the path of the program.
pub const CONFIGURATIONS: [[&str; 4]; 8] = [
    [
        "claude-code",
        ".claude.json",
        r#"{
  "numStartups": 214,
  "tipsHistory": {"new-user-warmup": 1.50, "big": 123456789012345678901234567890},
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/",
      "headers": { "Authorization": "Bearer ${TOKEN}" }
    }
  },
  "projects": { "/home/ada/app": { "allowedTools": [], "history": ["\u00e9 {\"mcpServers\": {}}"] } }
}
"#,
        r#"{
  "numStartups": 214,
  "tipsHistory": {"new-user-warmup": 1.50, "big": 123456789012345678901234567890},
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/",
      "headers": { "Authorization": "Bearer ${TOKEN}" }
    },
    "9plan": {
      "type": "stdio",
      "command": "PROGRAM",
      "args": []
    }
  },
  "projects": { "/home/ada/app": { "allowedTools": [], "history": ["\u00e9 {\"mcpServers\": {}}"] } }
}
"#,
    ],
    [
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\n\t\"mcpServers\" : {\n\t\t\"files\" : { \"command\":\"npx\", \"args\":[\"-y\",\"files\"] } },\n\t\"scale\": 0\n}",
        "{\n\t\"mcpServers\" : {\n\t\t\"files\" : { \"command\":\"npx\", \"args\":[\"-y\",\"files\"] },\n\t\t\"9plan\": {\n\t\t\t\"command\": \"PROGRAM\",\n\t\t\t\"args\": []\n\t\t} },\n\t\"scale\": 0\n}",
    ],
    [
        "cursor",
        ".cursor/mcp.json",
        "{\r\n    \"mcpServers\": {\r\n        \"db\": {\r\n            \"command\": \"db-mcp\"\r\n        }\r\n    }\r\n}\r\n",
        "{\r\n    \"mcpServers\": {\r\n        \"db\": {\r\n            \"command\": \"db-mcp\"\r\n        },\r\n        \"9plan\": {\r\n            \"command\": \"PROGRAM\",\r\n            \"args\": []\r\n        }\r\n    }\r\n}\r\n",
    ],
    [
        "vscode",
        ".config/Code/User/mcp.json",
        "{\n  \"inputs\": [\n    { \"id\": \"key\", \"type\": \"promptString\" }\n  ],\n      \"servers\": {\n         \"a\": { \"type\": \"stdio\", \"command\": \"a\" }\n      }\n}\n",
        "{\n  \"inputs\": [\n    { \"id\": \"key\", \"type\": \"promptString\" }\n  ],\n      \"servers\": {\n         \"a\": { \"type\": \"stdio\", \"command\": \"a\" },\n         \"9plan\": {\n           \"type\": \"stdio\",\n           \"command\": \"PROGRAM\",\n           \"args\": []\n         }\n      }\n}\n",
    ],
    [
        "codex",
        ".codex/config.toml",
        r#"# my settings
model = "gpt-5"   # the large one
notify = [ "a",
  "b" ]

[mcp_servers.docs]   # documentation
command = 'C:\tools\docs.exe'
args = []

[mcp_servers.docs.env]
"KEY" = "value"

[projects."/home/ada/app"]
trust_level = "trusted"
# the end
"#,
        r#"# my settings
model = "gpt-5"   # the large one
notify = [ "a",
  "b" ]

[mcp_servers.docs]   # documentation
command = 'C:\tools\docs.exe'
args = []

[mcp_servers.docs.env]
"KEY" = "value"

[projects."/home/ada/app"]
trust_level = "trusted"
# the end

[mcp_servers.9plan]
command = "PROGRAM"
"#,
    ],
    [
        "gemini",
        ".gemini/settings.json",
        "{ \"security\": { \"auth\": { \"selectedType\": \"oauth-personal\" } }, \"mcpServers\": { \"a\": { \"command\": \"a\" } } }",
        "{ \"security\": { \"auth\": { \"selectedType\": \"oauth-personal\" } }, \"mcpServers\": { \"a\": { \"command\": \"a\" }, \"9plan\": {\"command\":\"PROGRAM\",\"args\":[]} } }",
    ],
    [
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"9plan\": {\n      \"type\": \"local\",\n      \"command\": [\n        \"PROGRAM\"\n      ]\n    }\n  }\n}",
    ],
    [
        "copilot",
        ".copilot/mcp-config.json",
        "\u{feff}{\n \"mcpServers\": {\n  \"a\": {\n   \"tools\": [\"*\"], \"type\": \"local\", \"command\": \"a\", \"args\": []\n  }\n }\n}\n",
        "\u{feff}{\n \"mcpServers\": {\n  \"a\": {\n   \"tools\": [\"*\"], \"type\": \"local\", \"command\": \"a\", \"args\": []\n  },\n  \"9plan\": {\n   \"type\": \"local\",\n   \"command\": \"PROGRAM\",\n   \"args\": [],\n   \"tools\": [\n    \"*\"\n   ]\n  }\n }\n}\n",
    ],
];
