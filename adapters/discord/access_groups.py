"""Pure: the groups in which somebody says something, as the settings name them."""

from adapters.discord.incoming import ReceivedMessage


def access_groups(said: ReceivedMessage) -> tuple[str, ...]:
    """`GUILD`, `GUILD/#CHANNEL` and `GUILD/@ROLE`, each for what is said in that guild alone.

    Nothing for what is said where two people talk, whatever roles they have elsewhere. What is said in a thread is
    said in the channel that it belongs to as well.
    """
    if not said.guild:
        return ()
    channels = [said.message.chat.name, *([str(said.parent)] if said.parent else [])]
    return (
        str(said.guild),
        *(f"{said.guild}/#{channel}" for channel in channels),
        # Everybody there has the role that has the guild's own number.
        *(f"{said.guild}/@{role}" for role in said.roles or () if role != said.guild),
    )
