"""What the slash command does for what runs and the session may use."""

from kaa.core.budget import (
    BUDGET_SCOPES,
    MEASURE_WORDS,
    MEASURES,
    BudgetScope,
    BudgetUsage,
    Measure,
    amount,
    parse_amount,
)
from kaa.ext.api import CommandAction, CommandContext, Reply
from kaa.ext.errors import CommandError
from kaa.ext.session_services import SessionBudget

_USAGE = "/budget run cost 0.50, /budget session tokens 2m, /budget run time 10m, /budget run turns off"


async def budget(arguments: str, context: CommandContext) -> CommandAction:
    """Show the limits, or change one."""
    match arguments.split():
        case []:
            return Reply(_shown(context.budget))
        case [scope, word, *rest] if scope in BUDGET_SCOPES and word in MEASURE_WORDS and rest:
            _set(context.budget, "run" if scope == "run" else "session", MEASURE_WORDS[word], " ".join(rest))
            return Reply(_shown(context.budget))
        case _:
            raise CommandError(f"invalid budget: write, for example, {_USAGE}")


def _set(budget: SessionBudget, scope: BudgetScope, measure: Measure, text: str) -> None:
    try:
        limit = None if text == "off" else parse_amount(measure, text)
    except ValueError as error:
        raise CommandError(str(error)) from error
    budget.set_limit(scope, measure, limit)


def _shown(budget: SessionBudget) -> str:
    lines = []
    for scope in BUDGET_SCOPES:
        limits, used = budget.limits(scope), budget.used(scope)
        lines.append("this run, or the last" if scope == "run" else "the session")
        for measure in MEASURES:
            limit = limits.limit(measure)
            of = "no limit" if limit is None else f"of {amount(measure, limit)}"
            lines.append(f"  {_spent(used, measure):<18} {of}")
    return "\n".join([*lines, f"To change it: {_USAGE}"])


def _spent(used: BudgetUsage, measure: Measure) -> str:
    """How much of a measure; where prices are involved that nobody knows, what is known."""
    if measure != "cost" or not used.unpriced:
        return amount(measure, used.amount(measure))
    return f"at least {amount('cost', used.cost)}" if used.cost else "$?"
