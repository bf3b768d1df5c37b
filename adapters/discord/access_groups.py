"""The groups of a sender, in the form that the access settings use; no I/O."""

from adapters.discord.incoming import ReceivedMessage


def access_groups(said: ReceivedMessage) -> tuple[str, ...]:
    """Return `GUILD`, `GUILD/#CHANNEL` and `GUILD/@ROLE` for the guild of a message.

    Return nothing for a direct message, whatever roles its sender has elsewhere. A thread's message also belongs to
    its parent channel.
    """
    if not said.guild:
        return ()
    channels = [said.message.chat.name, *([str(said.parent)] if said.parent else [])]
    return (
        str(said.guild),
        *(f"{said.guild}/#{channel}" for channel in channels),
        # Everyone has the role whose id is the guild's.
        *(f"{said.guild}/@{role}" for role in said.roles or () if role != said.guild),
    )
