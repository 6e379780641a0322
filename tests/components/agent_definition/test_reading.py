"""Definitions of agents in the formats of eight agents; no mistake in one gives an agent more than it wanted."""

from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaa.components.agent_definition import AgentDefinition, AgentModel
from kaa.components.agent_definition.reading import MAX_BYTES, agent_in, opencode_agents
from kaa.components.skill import Unusable
from kaa.components.tool_names import ToolDialect, ToolPattern
from tests.support.tables import each

DIALECTS: tuple[ToolDialect, ...] = get_args(ToolDialect)


def found(head: str, dialect: ToolDialect = "claude", name: str = "review") -> AgentDefinition | Unusable:
    text = head if dialect == "codex" else f"---\ndescription: Reviews.\n{head}\n---\nReview it.\n"
    return agent_in(name, text.encode(), dialect)


def agent(head: str, dialect: ToolDialect = "claude", name: str = "review") -> AgentDefinition:
    definition = found(head, dialect, name)
    assert isinstance(definition, AgentDefinition), definition
    return definition


def refusal(head: str, dialect: ToolDialect = "claude", name: str = "review") -> str:
    definition = found(head, dialect, name)
    assert isinstance(definition, Unusable), definition
    return definition.reason


def of_opencode(**settings: Any) -> AgentDefinition | Unusable:
    return opencode_agents({"review": {"description": "Reviews.", "prompt": "Review it.", **settings}})["review"]


class TestFormats:
    def test_claude(self) -> None:
        assert agent(
            "name: code-review\ntools: Read, Bash(git *), Agent(explore, general), mcp__github\n"
            "disallowedTools: [Write, 'Bash(rm *)']\nmodel: haiku\npermissionMode: plan\nmaxTurns: 7\n"
            "skills: [pdf]\nmcpServers:\n  - github\nbackground: true\neffort: xhigh\nisolation: worktree\ncolor: red"
        ) == AgentDefinition(
            "code-review",
            "Reviews.",
            "Review it.",
            "claude",
            tools=("read", "bash", "agent", "mcp__github__*"),
            excluded_tools=("write",),
            only=(ToolPattern("bash", "git *"),),
            denied=(ToolPattern("bash", "rm *"),),
            agents=("explore", "general"),
            model=AgentModel("small"),
            thinking="xhigh",
            permission="read-only",
            background=True,
            worktree=True,
            max_turns=7,
            skills=("pdf",),
            mcp_servers=("github",),
        )

    def test_kaa(self) -> None:
        definition = agent(
            "tools: read, bash\nexcluded-tools: bash(rm *)\nmodel: anthropic/claude-haiku-4-5\nthinking: low\n"
            "permission: ask\nmax-turns: 3",
            "kaa",
        )

        assert (definition.name, definition.tools) == ("review", ("read", "bash"))
        assert definition.denied == (ToolPattern("bash", "rm *"),)
        assert definition.model == AgentModel("small", "anthropic/claude-haiku-4-5")
        assert (definition.thinking, definition.permission, definition.max_turns) == ("low", "ask", 3)
        assert definition.notes == ()

    def test_codex(self) -> None:
        definition = agent(
            'name = "review"\ndescription = "Reviews."\ndeveloper_instructions = "Review it."\nmodel = "gpt-5-mini"\n'
            'model_reasoning_effort = "none"\nsandbox_mode = "read-only"\nnickname_candidates = ["Ada"]\n'
            '[mcp_servers.docs]\ncommand = "docs"\n',
            "codex",
        )

        assert (definition.prompt, definition.model) == ("Review it.", AgentModel("small", "gpt-5-mini"))
        assert (definition.thinking, definition.permission, definition.mcp_servers) == ("off", "read-only", ("docs",))
        assert definition.servers == '{"docs":{"command":"docs"}}'
        assert definition.notes == ()

    def test_gemini(self) -> None:
        definition = agent(
            "kind: local\ntools:\n  - read_file\n  - mcp_github_*\nmodel: gemini-3-flash\nmax_turns: 30\n"
            "temperature: 0.2",
            "gemini",
        )

        assert definition.tools == ("read", "mcp__github__*")
        assert (definition.model, definition.max_turns) == (AgentModel("small", "gemini-3-flash"), 30)
        assert definition.notes == ("`temperature` is not used: the settings of the model hold",)

    def test_cursor(self) -> None:
        definition = agent("model: fast\nreadonly: true\nis_background: true", "cursor")

        assert definition.model == AgentModel("small")
        assert (definition.permission, definition.background) == ("read-only", True)

    def test_droid(self) -> None:
        definition = agent("model: inherit\nreasoningEffort: high\ntools: read-only", "droid")

        assert definition.tools == ("read", "find", "grep", "ls")
        assert (definition.model, definition.thinking) == (AgentModel(), "high")

    def test_pi(self) -> None:
        assert agent("tools: read, grep, find, ls", "pi").tools == ("read", "grep", "find", "ls")

    def test_opencode(self) -> None:
        definition = agent(
            "mode: subagent\nmodel: anthropic/claude-sonnet-5\nsteps: 9\npermission:\n  edit: deny\n  bash:\n"
            '    "*": deny\n    "git *": ask\n  webfetch: allow',
            "opencode",
            "team/review",
        )

        assert definition.name == "team:review"
        assert definition.excluded_tools == ("edit", "write")
        assert definition.only == (ToolPattern("bash", "git *"),)
        assert (definition.permission, definition.max_turns) == ("ask", 9)
        assert definition.model == AgentModel("large", "anthropic/claude-sonnet-5")


class TestRulesOfOpencode:
    def test_the_last_rule_that_fits_holds(self) -> None:
        definition = of_opencode(permission={"*": "deny", "read": "allow", "gh_*": "allow", "gh_drop": "deny"})

        assert isinstance(definition, AgentDefinition)
        assert definition.tools == ("mcp__gh__*", "read")
        assert definition.excluded_tools == ("mcp__gh__drop",)
        assert of_opencode(permission={"read": "allow", "*": "deny"}) == Unusable("none of its tools exists")

    def test_the_older_field_says_yes_or_no(self) -> None:
        definition = of_opencode(tools={"write": False, "my-mcp*": False})

        assert isinstance(definition, AgentDefinition)
        assert definition.tools is None
        assert definition.excluded_tools == ("mcp__my-mcp*", "write")

    @each("action", ["Deny", "", "no", 7, None, ["allow"]])
    def test_an_unknown_action_is_a_denial(self, action: object) -> None:
        definition = of_opencode(permission={"bash": action})

        assert isinstance(definition, AgentDefinition)
        assert definition.excluded_tools == ("bash",)

    def test_too_many_rules_deny_what_they_are_about(self) -> None:
        patterns = {f"git {number}": "deny" for number in range(201)}
        definition = of_opencode(permission={"bash": patterns})

        assert isinstance(definition, AgentDefinition)
        assert definition.excluded_tools == ("bash",)

    def test_agents_that_are_no_definitions_are_refused(self) -> None:
        assert of_opencode(disable=True) == Unusable("it is disabled")
        assert opencode_agents({"build": {"model": "x/y"}}) == {"build": Unusable("it has no prompt")}
        assert "another file" in getattr(of_opencode(prompt="{file:./review.txt}"), "reason", "")
        assert opencode_agents({"a": 1}) == {"a": Unusable("it is no object with fields")}
        assert opencode_agents([1]) == {}


class TestRefusals:
    def test_a_definition_without_any_existing_tool_is_refused_and_they_are_named(self) -> None:
        assert (
            refusal("tools: WebSearch, TodoWrite") == "none of its tools exists: kaa does not have WebSearch, TodoWrite"
        )
        assert refusal("tools: []") == "none of its tools exists"
        assert refusal("tools: Read\ndisallowedTools: Read") == "none of its tools exists"

    def test_some_unknown_tools_are_named(self) -> None:
        assert agent("tools: Read, WebSearch").notes == ("the tool `WebSearch` is unknown",)

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"Review it.", "it has no fields such as `name` and `description` at its beginning"),
            (b"---\nname: x\n---\n", "it has no prompt"),
            (b"x" * (MAX_BYTES + 1), "it has more than 256 KiB"),
            (b"---\nname: x\n", "the fields at its beginning have no end: add a line of ---"),
        ],
    )
    def test_what_is_no_definition(self, data: bytes, reason: str) -> None:
        assert agent_in("review", data, "claude") == Unusable(reason)

    def test_an_agent_elsewhere_is_refused(self) -> None:
        assert "`kind` is 'remote'" in refusal("kind: remote", "gemini")

    def test_a_name_that_cannot_be_called_is_that_of_the_file(self) -> None:
        definition = agent("name: 'Re\\view: \u202e!'")

        assert definition.name == "review"
        assert "cannot be called" in definition.notes[0]
        assert "cannot be called" in refusal("", name="no name")


class TestNothingIsBroader:
    """Than the definition wanted, whatever is wrong with it."""

    BROKEN = "summary: Use when: asked\n"  # this is not YAML

    @pytest.mark.parametrize(
        ("head", "tools"),
        [('tools: ["Read", "Grep"]', ("read", "grep")), ("tools:\n  - Read\n\n  - Grep", ("read", "grep"))],
    )
    def test_lists_are_found_in_fields_that_are_not_yaml(self, head: str, tools: tuple[str, ...]) -> None:
        definition = agent(self.BROKEN + head)

        assert definition.tools == tools
        assert "not valid YAML" in definition.notes[0]

    def test_all_lines_of_a_denial_count(self) -> None:
        assert agent(f"{self.BROKEN}disallowedTools: Write,\n  Edit").excluded_tools == ("write", "edit")

    @pytest.mark.parametrize("field", ["tools", "disallowedTools", "permissionMode", "isolation"])
    def test_a_limit_that_cannot_be_read_refuses_the_definition(self, field: str) -> None:
        assert f"its field `{field}` cannot be read" in refusal(f'{self.BROKEN}{field}:\n  - "Read')

    @pytest.mark.parametrize("denial", ["{Bash: true}", "[{Bash: x}]", "[[Bash]]"])
    def test_denials_in_another_form_refuse_the_definition(self, denial: str) -> None:
        assert "no list of names" in refusal(f"disallowedTools: {denial}")

    @pytest.mark.parametrize("denial", ["Bash(rm", '["Bash(rm \\a)"]'])
    def test_a_denied_pattern_that_is_not_understood_denies_the_tool(self, denial: str) -> None:
        assert agent(f"disallowedTools: {denial}").excluded_tools == ("bash",)

    def test_two_names_of_a_limit_refuse_the_definition(self) -> None:
        assert "mean the same" in refusal("disallowedTools: Bash\nexcluded-tools: write", "kaa")

    @pytest.mark.parametrize(
        ("dialect", "field"), [("claude", "permissionMode"), ("kaa", "permission"), ("cursor", "readonly")]
    )
    def test_an_unknown_permission_is_to_read(self, dialect: ToolDialect, field: str) -> None:
        assert agent(f"{field}: strictest", dialect).permission == "read-only"
        assert agent(f"{field}: [x]", dialect).permission == "read-only"

    @pytest.mark.parametrize(
        ("mode", "permission"),
        [
            ("bypassPermissions", "auto"),
            ("acceptEdits", "ask"),
            ("default", "ask"),
            ("dontAsk", None),
            ("PLAN", "read-only"),
        ],
    )
    def test_modes_of_claude(self, mode: str, permission: str | None) -> None:
        assert agent(f"permissionMode: {mode}").permission == permission

    def test_the_narrowest_of_several_permissions_holds(self) -> None:
        head = 'description = "x"\ndeveloper_instructions = "x"\napproval_policy = "on-request"\n'

        assert agent(head, "codex").permission == "ask"
        assert agent(f'{head}sandbox_mode = "read-only"\n', "codex").permission == "read-only"


@pytest.mark.parametrize(
    ("field", "note"),
    [
        ("maxTurns: many", "`maxTurns: many` is no number from 1 to 10000: it is not used"),
        ("effort: huge", "`effort: huge` is unknown: the thinking level of the conversation holds"),
        ("isolation: docker", "`isolation: docker` is unknown: it works in its own worktree"),
        ("flavour: x", "`flavour` is unknown"),
    ],
)
def test_what_is_not_used_is_named(field: str, note: str) -> None:
    assert agent(field).notes == (note,)


def test_notes_are_few_and_can_be_shown() -> None:
    notes = agent("\n".join(f'"x{number}\\e[31m": 1' for number in range(80))).notes

    assert len(notes) == 51
    assert notes[-1] == "30 more remarks are left out"
    assert all(note.isprintable() for note in notes)


_VALUES = st.recursive(
    st.text(max_size=20)
    | st.booleans()
    | st.integers()
    | st.none()
    | st.sampled_from(["deny", "Bash(git *)", "*", "Read"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode), st.sampled_from(DIALECTS))
@example(b"---\na: &a [x]\nb: *a\n---\nx", "claude")
@example(b"a = " + b"[" * 3_000, "codex")
@example(b"---\n\xff: \x00\n---\n", "gemini")
def test_any_file_is_a_definition_or_refused(data: bytes, dialect: ToolDialect) -> None:
    for text in (data, b"---\n" + data + b"\n---\nx"):
        assert isinstance(agent_in("review", text, dialect), AgentDefinition | Unusable)


@given(
    st.dictionaries(
        st.sampled_from(["tools", "permission", "model", "steps", "variant", "mode", "disable", "mcp", "prompt"]),
        _VALUES,
    )
)
def test_any_setting_of_opencode_is_a_definition_or_refused(settings: dict[str, Any]) -> None:
    assert isinstance(of_opencode(**settings), AgentDefinition | Unusable)
