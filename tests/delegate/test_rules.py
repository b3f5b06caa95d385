"""Who gets a task."""

import pytest

from clawft.delegate.rules import Decision, complexity, decide, problems, tools_of
from clawft.policy.delegation import DelegationConfig, DelegationRule, Target
from tests.requirements import requirement

OPENAI, FLOW = Target.OPENAI, Target.FLOW
HARD = "orchestrate the research, then analyze and compare it"


def decided(
    task: str, *rules: DelegationRule, claude: bool = True, flow: bool = True, openai: bool = False
) -> Decision:
    return decide(task, DelegationConfig(rules=rules), claude, flow, openai)


@requirement("DELEG-02", "T-8.2")
@pytest.mark.parametrize("spelled", ["flow", "claude_flow", "claude-flow", "ClaudeFlow"])
def test_flow_has_several_spellings(spelled: str) -> None:
    assert Target(spelled) is Target.FLOW
    assert decided("x", DelegationRule("", spelled)).target is Target.FLOW


@requirement("DELEG-08", "FR-007", "T-10.1", "T-10.2")
def test_the_first_rule_found_anywhere_wins() -> None:
    rules = (DelegationRule("deploy", "claude"), DelegationRule("(?i)DEPLOY|ship", "flow"))
    assert decided("please deploy it", *rules).target is Target.CLAUDE
    assert decided("please ship it", *rules).target is Target.FLOW
    assert decided("please ship it", *rules).rule == 2


@requirement("DELEG-08", "T-10.7")
def test_without_a_matching_rule_it_stays_local() -> None:
    assert decided("hello").target is Target.LOCAL
    assert decided("hello", DelegationRule("deploy", "claude")).reason == "no rule matches"


@requirement("DELEG-08", "S3-E13")
def test_an_empty_pattern_matches_everything() -> None:
    assert decided("anything", DelegationRule("", "claude")).target is Target.CLAUDE


@requirement("DELEG-03", "T-8.3")
def test_a_rule_names_the_tools() -> None:
    assert decided("x", DelegationRule("x", "claude", ("git__*",))).tools == ("git__*",)
    assert DelegationRule("x", "local").tools == ()


@requirement("DELEG-03", "DELEG-21")
def test_who_is_asked_for_by_name_has_the_tools_of_the_rule_for_the_task() -> None:
    rules = (
        DelegationRule("x", "local"),
        DelegationRule("x", "claude", ("git__*",)),
        DelegationRule("x", "openai", ("file__*",)),
        DelegationRule("y", "flow"),
        DelegationRule("", "auto", ("memory__*",)),
    )
    given = {(task, target): tools_of(task, target, rules) for task in ("x", "y", "z") for target in (OPENAI, FLOW)}
    assert given == {
        ("x", OPENAI): ("file__*",),
        ("x", FLOW): ("git__*",),
        ("y", OPENAI): (),
        ("y", FLOW): (),
        ("z", OPENAI): ("memory__*",),
        ("z", FLOW): ("memory__*",),
    }
    assert tools_of("z", OPENAI, rules[:4]) == ()


@requirement("DELEG-09", "T-10.5", "T-10.6")
@pytest.mark.parametrize("target", ["claude", "flow", "openai"])
def test_a_target_that_is_not_available_falls_back_to_local(target: str) -> None:
    decision = decided("x", DelegationRule("x", target), claude=False, flow=False)
    assert decision.target is Target.LOCAL
    assert "not available" in decision.reason


@requirement("DELEG-10", "T-10.3", "T-10.4")
def test_auto_goes_by_complexity() -> None:
    rule = DelegationRule("", "auto")
    assert decided("hello", rule).target is Target.LOCAL
    assert decided(HARD, rule).target is Target.FLOW
    assert decided(HARD, rule, flow=False).target is Target.CLAUDE
    assert decided("orchestrate the research", rule).target is Target.CLAUDE
    assert decided(HARD, rule, flow=False, claude=False).target is Target.LOCAL
    assert decided(HARD, rule, flow=False, claude=False, openai=True).target is Target.OPENAI


@requirement("DELEG-11", "T-10.8")
def test_an_invalid_rule_is_skipped_and_told() -> None:
    rules = (DelegationRule("[", "claude"), DelegationRule("x", "nobody"), DelegationRule("x", "claude"))
    decision = decided("x", *rules)
    assert (decision.target, decision.rule) == (Target.CLAUDE, 3)
    assert len(decision.skipped) == 2
    assert "rule 1" in decision.skipped[0]
    assert "nobody" in decision.skipped[1]
    assert list(problems(rules)) == list(decision.skipped)


@requirement("DELEG-12", "T-10.9", "T-10.10")
def test_complexity_grows_with_key_words_and_length() -> None:
    assert complexity("hello") < 0.3
    assert complexity("orchestrate the research") > 0.5
    assert complexity("Orchestrating researchers") > 0.5
    assert complexity("word " * 150) == pytest.approx(0.2, abs=0.05)
    assert complexity("") == 0
    assert complexity(HARD * 1_000) == 1
