"""The step about the assistant's name and the time zone."""

from bot.config.system_zone import system_zone
from bot.setup import phrases
from bot.setup.setup import Setup


def set_up_you(setup: Setup) -> str:
    """Ask for the name and the time zone; return what was set."""
    settings, ask = setup.files.settings(), setup.questions.ask
    name = ask("name", phrases.ASK_NAME, default=settings.agent.name, parse=setup.parse_as("agent", "name"))
    setup.files.set(("agent", "name"), name)
    setup.keep()
    machine = system_zone()
    if machine.problem:
        setup.questions.say(phrases.ZONE_PROBLEM.format(problem=machine.problem))
    zone = ask(
        "timezone",
        phrases.ASK_ZONE,
        default=settings.timezone or machine.name,
        parse=setup.parse_as("timezone"),
    )
    if settings.timezone or zone != machine.name:  # else it goes on following the machine's
        setup.files.set(("timezone",), zone)
    return phrases.YOU_SET.format(name=name, zone=zone)
