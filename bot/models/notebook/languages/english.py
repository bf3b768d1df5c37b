"""English."""

from bot.models.notebook.language import Language, Replies, phrases

ENGLISH = Language(
    code="en",
    say=Replies(
        noted="Noted in {places}.",
        already_noted="That's already in {places}.",
        place="`{path}`, line {line}",
        lines="`{path}`, lines {lines}",
        found="From your notes:",
        close="I'm not sure this is what you mean, but it comes close:",
        said="From our chat on {date}:",
        since="Since {date}: {text}",
        before_that="Before that, from {date}: {text}",
        nothing="I found nothing about that in your notes. Try other words or, if you want me to note it, start "
        "with “remember”.",
        hello="I keep your notes and find them again. Tell me something, such as “Remember that the spare key is "
        "at Tom's”, or ask me: “Where is the spare key?” You can also say: “Remind me tomorrow at 9 to call "
        "Tom.”",
        what="What should I remember?",
        cannot_note="I can't note anything here: this chat has no access to the memory.",
        cannot_find="I can't look that up here: this chat has no access to the memory.",
        closed="In groups, memory is off until an owner sends `/memory on`.",
        not_noted="I couldn't note that: {error}",
        not_found="I couldn't search your notes: {error}",
        thanks="You're welcome.",
        fine="All right.",
        cannot_do="I can't do that: I can only keep notes, find them and remind you. If you want me to note it, "
        "start with “remember”.",
        cannot_read="I can't read pictures, files or voice messages; I can only keep notes, find them and remind "
        "you.",
        keep_how="To keep the document in your notes, say “remember this”.",
        reminded="Reminder {number} set for {due}: {text}",
        reminded_again="Reminder {number} set, {when}: {text}. First on {due}.",
        while_open="If Commonplace isn't running then, you'll see it the next time you start it.",
        not_reminded="I couldn't set that reminder: {error}",
        remind_when="When should I remind you? I didn't understand the time. Reply with one, such "
        "as “tomorrow 9:00” or “in 20 minutes”, or send `/remind tomorrow 9:00 call Tom`.",
        remind_what="What should I remind you about? Just reply, or send `/remind tomorrow 9:00 call Tom`.",
        forget="To remove it everywhere, send `{command}`. I'll first show you what would be removed.",
        forget_nothing="I found nothing about that in your notes. To remove something, send "
        "`/forget WORDS` with words from the note.",
        correct="To correct a note, send `{command}` with the correct text.",
        corrected="Corrected: {place} now says “{new}” instead of “{old}”. To take that back, say “undo”.",
        removed="Removed from {place}: “{old}”. To put it back, say “undo”.",
        nothing_to_undo="There is nothing to undo: I haven't noted or changed anything in our last messages.",
        undo_older="My last change is too long ago, or reads differently now. "
        "`/undo` takes back your latest change to the notes, `/changes` lists them.",
        back="Back in {place}: “{text}”.",
        which_words="Which words should I change? The line says “{text}”. Please send me the whole new sentence.",
        reminder_moved="Moved: I'll remind you on {due}: {text} (reminder {number}). To move it back, say “undo”.",
        reminder_cancelled="Cancelled reminder {number}: {text}. To set it again, say “undo”.",
        no_such_reminder="I didn't cancel anything: {error}",
        good_night="Good night!",
        goodbye="See you!",
        clock="It's {time} ({zone}).",
        day="Today is {weekday}, {date}.",
        list_notes="`/memory list` lists your notes, and `/memory get MEMORY.md` shows one.",
        reminders="`/reminders` lists your reminders.",
        cancel_reminder="To cancel a reminder, send `{command}`. `/reminders` shows their numbers.",
        reminders_are="Your reminders:",
        reminders_none="You have no reminders.",
        on_day="For {day}:",
        on_day_nothing="I have no reminders or notes for {day}.",
        about_you="From `MEMORY.md`, which I always keep in mind:",
        about_you_nothing="There is nothing about you in `MEMORY.md` yet. `/remember core: TEXT` adds something; "
        "`/recall WORDS` searches everything else.",
        today="From today's notes:",
        today_nothing="There is nothing in today's notes yet.",
        rest="`/memory get {path}` shows all of it.",
        leave="To leave the terminal, type exit or press Ctrl-D. Your notes stay.",
        notice="I'm the built-in notebook: I keep notes, find them and set reminders. For more, add a "
        "language model: on the machine I run on, `commonplace init model` asks which one and tests it. "
        "With Ollama it runs on your own machine and needs no key; docs/models.md shows all the others.",
    ),
    abbreviations=phrases(
        "dr|mr|mrs|ms|prof|st|mt|vs|approx|dept|inc|ltd|jr|sr|nos|tel|vol|fig|cf|ca|est|gen|rev|capt"
    ),
    hints=phrases(
        "a|in|i|the|is|are|my|our|your|of|and|to|with|at|on|it|this|that|she|he|they|for|an|about|not|from"
        "|was|were|by|their|his|its|but|or|as|be|been|you|me|there|here|now"
    ),
    accents="éèêëïôñçäöüæœ",
    please=phrases("please|pls|plz|kindly|for me"),
    before=phrases(
        "hey|hi|hello|ok|okay|so|and|also|oh|well|now|just|commonplace|i want you to|i'd like you to"
        "|i need you to|i would like you to|i want to|you should|you must|you need to|you have to|you can"
        "|let's|let me|make sure to|make sure you|make sure that you|be sure to|try to|quick"
    ),
    intending=phrases(
        "i want to|you should|you must|you need to|you have to|you can|let's|let me|make sure to"
        "|make sure you|make sure that you|be sure to|try to|can we|could we"
    ),
    could_you=phrases(
        "can you|could you|would you|will you|can i ask you to|could i ask you to|would you mind to|can we"
        "|could we"
    ),
    remember=phrases(
        "remember|rember|remeber|remmeber|rememeber"  # as people type it
        "|memorize|memorise|note|note down|note to self|make a note|make a note of|take a note"
        "|take a note of|take note|take note of|add a note|new note|keep a note|keep a note of|keep in mind"
        "|bear in mind|don't forget|dont forget|do not forget|write down|write this down|write that down"
        "|write it down|jot down|jot this down|jot that down|note this down|note that down|save this"
        "|save that|save a note|save to memory|add to memory|add to my notes|add to your memory"
        "|put in my notes|store this|keep this in mind|fyi|for your information|for the record"
        "|just so you know|so you know|btw|by the way|save:|memo:|reminder:"
    ),
    never_forget=phrases(
        "never forget|don't ever forget|never ever forget|add to core memory|save to core memory"
        "|core memory:|core:"
    ),
    recall=phrases(
        "remember|fyi|btw|by the way|for the record|just so you know|so you know|for your information"
    ),
    this=phrases("this|the following|it|these"),
    that=phrases("that|to|about"),
    for_ever=phrases(
        "permanently|forever|for ever|for good|always|in core memory|to core memory|in your core memory"
        "|to your core memory|in long-term memory|to long-term memory"
    ),
    remember_end=phrases(
        "remember that|remember this|remember it|please remember|please note|keep that in mind"
        "|keep this in mind|keep it in mind|don't forget|don't forget it|don't forget that|do not forget"
        "|make a note|make a note of it|make a note of that|note that down|write that down|write it down"
        "|save that|fyi|for your information|just so you know|for the record"
    ),
    mentions=phrases(
        "fyi|for your information|for the record|just so you know|so you know|btw|by the way|reminder:"
    ),
    keep=phrases("keep|save|store|file|archive"),
    document=phrases("document|documents|doc|file|files|pdf|attachment|attachments"),
    search=phrases(
        "search|search for|search my notes for|search my notes|search the notes for|search in my notes for"
        "|look up|look for|find|find me|find out|show me|tell me|tell me about|tell me more about"
        "|tell me all about|what do you remember about|what do you know about|what did i say about"
        "|what did i tell you about|what did i write about|what have i told you about|do you remember"
        "|do you know|do you recall|recall|look in my notes for|check my notes for|give me|any notes on"
        "|any notes about|what about|how about|help me find|help me to find"
    ),
    remind=phrases(
        "remind me|remind us|set a reminder|set me a reminder|add a reminder|create a reminder|set an alarm"
        "|set a timer|wake me|wake me up|don't let me forget|do not let me forget|give me a reminder"
        "|i need a reminder|i want a reminder|i'd like a reminder|i would like a reminder"
    ),
    reminder_links=phrases("to|that|about|of|for"),
    forget=phrases("forget|forget about|delete|remove|erase"),
    forget_fillers=phrases(
        "a|an|the|my|our|your|his|her|their|this|that|these|those|it|about|of|on|with|to|for|what"
        "|which|that|i|you|we|said|say|told|tell|wrote|noted|note|notes|entry|entries|memory"
        "|everything|all|anything|is|are"
    ),
    change=phrases(
        "undo|correct that|correct this|correct it|change that|change this|change it"
        "|correct the … to|correct my … to|change the … to|change my … to|update the … to"
        "|update my … to|rename the … to"
    ),
    denials=phrases("no|nope|nah"),
    wrong=phrases(
        "that is wrong|that's wrong|this is wrong|it is wrong|it's wrong|wrong|that is not right"
        "|that's not right|that isn't right|this is not right|that is incorrect|that's incorrect"
        "|incorrect|not true|that's not true|that is not true|that isn't true|this is not true"
        "|this isn't true|that's not correct"
        "|that is not correct|not correct|you are wrong|you're wrong|that is false|that's false"
        "|that is a mistake|that's a mistake|that's not what i meant|that is not what i meant"
        "|that's not what i said|i didn't mean that|i didn't say that|not what i meant"
    ),
    corrects=phrases(
        "i meant|i mean|i meant to say|i wanted to say|correction|make that|make it|scratch that"
        "|it should be|that should be|should be|it should have been|it should say"
        "|change that to|change it to|change this to|correct that to|correct it to"
    ),
    amends=phrases("actually|sorry|i'm sorry|wait|oops|hold on|my mistake|my bad|excuse me|instead|rather"),
    pronouns=phrases(
        "it|it is|it's|its|it was|that is|that's|this is|he|he is|he's|she|she is|she's|they|they are|they're"
    ),
    copulas=phrases("is|are|am|was|were|it's|its|that's|he's|she's|they're"),
    instead=(
        r"(?:(?:it|that|this|he|she|they|i|we)(?:(?:'s|'re|'m| is| are| am| was| were)? not|"
        r"(?: is|are|was)n't) |not )(?P<old>[^,;.]+?)(?:[,;.]| [–-]| but) *(?:but )?(?:"
        r"(?:it|that|this|he|she|they)(?:'s|'re| is| are| was) )?(?P<new>[^,;.]+)",
        r"(?:(?:it|that|this)(?:'s| is| was) )?(?P<new>[^,;.]+?)(?:, "
        r"(?:and )?not| and not| instead of| rather than| not) (?P<old>[^,;.]+)",
    ),
    forget_that=phrases(
        "forget that|forget this|forget that note|forget what i said|forget what i just said"
        "|forget the last note|forget the last thing i said|delete that|delete this|delete it"
        "|delete that note|delete the last note|remove that|remove this|remove it|remove that note"
        "|remove the last note|erase that|erase it|scratch that|cancel that|cancel it|cancel this"
        "|cancel that reminder|cancel that note"
    ),
    undo=phrases(
        "undo|undo that|undo this|undo it|take that back|take it back|put that back"
        "|put it back|restore that|restore it"
    ),
    clock=phrases(
        "what time is it|what time is it now|what's the time|what is the time|what's the time now"
        "|what is the time now|whats the time|do you know what time it is|tell me the time"
        "|tell me what time it is|do you have the time|what is the current time"
        "|what's the current time|the time"
    ),
    day=phrases(
        "what day is it|what day is it today|what day is today|which day is it|which day is today"
        "|what day of the week is it|what is the date|what's the date|what's the date today"
        "|what is the date today|what date is it|what date is it today|what date is today"
        "|what is today's date|what's today's date|what is today|what's today|tell me the date"
    ),
    good_night=phrases("good night|goodnight|night|nighty night|sleep well|sweet dreams"),
    goodbye=phrases(
        "bye|goodbye|bye bye|good bye|see you|see you later|see you soon|see you tomorrow|see ya"
        "|talk to you later|later|take care|have a nice day|have a good day|have a nice evening"
        "|have a good evening"
    ),
    weekday_names=phrases("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"),
    list_notes=phrases(
        "show all notes|show all my notes|show me all notes|show me all my notes|show my notes"
        "|show me my notes|show notes|list all notes|list all my notes|list my notes|list notes"
        "|what notes do i have|what notes are there|which notes do i have|which notes are there"
        "|all notes|all my notes|my notes|show everything|list everything|what have you noted"
        "|what did you note"
    ),
    list_reminders=phrases(
        "what are my reminders|my reminders|show my reminders|show me my reminders"
        "|show all reminders|show all my reminders|show reminders|list my reminders"
        "|list all reminders|list all my reminders|list reminders|reminders"
        "|which reminders do i have|what reminders do i have|do i have any reminders"
        "|do i have reminders|are there any reminders|what will you remind me of"
        "|what are you going to remind me of"
    ),
    cancel_reminder=(
        r"(?:(?:cancel|delete|remove|erase|drop|stop|clear|turn off|switch off) (?:(?:the|my"
        r"|all|that|this|of|last) )*reminders?(?= *(?:$|[#\d]|(?:no|nr|number|to|about|for|at"
        r"|on|with|called|that|which|please)\b))|(?:stop|quit) reminding (?:me|us)\b|(?:don't"
        r"|dont|do not) remind (?:me|us)\b)"
    ),
    today_words=phrases("today|tonight|this evening"),
    tomorrow_words=phrases("tomorrow"),
    on_day=phrases(
        "what is on …|what's on …|whats on …|what is on on …|what's on on …|what is on for …"
        "|what's on for …|what is happening …|what's happening …|what do i have …"
        "|what do i have on …|what do i have for …|what do i have to do …"
        "|what do i have to do on …|what do i have planned …|what do i have planned for …"
        "|what have i got …|what have i got on …|what is planned …|what's planned …"
        "|what is planned for …|what's planned for …|what are my plans for …|what are my plans …"
        "|what are my appointments …|what are my appointments for …|which appointments do i have …"
        "|do i have anything …|do i have anything on …|do i have anything planned …"
        "|do i have anything planned for …|do i have any plans for …|do i have any appointments …"
        "|any plans for …|is there anything …|is there anything on …|anything on …|anything …"
        "|what should i do …|what must i do …|what's on my calendar …|what is on my calendar …"
        "|what's on my calendar for …|what's on the agenda …|what is on the agenda …"
        "|what's on the agenda for …|what are my reminders for …|what reminders do i have …"
        "|what reminders do i have for …|which reminders do i have …"
    ),
    paraphrases=(
        phrases("my name|i am called|i'm called|am i called|call me|people call me|i go by"),
        phrases("do i live|i live|we live|do we live|my address|my home|i moved to|we moved to"),
        phrases("my birthday|i was born|was i born|my date of birth|old am i|my age"),
        phrases("do i work|i work|my job|my employer|my profession|do i do for a living"),
    ),
    about_me=phrases(
        "what do you know about me|what do you remember about me|what have you noted about me"
        "|what did you note about me|tell me what you know about me|show me what you know about me"
        "|tell me about me|tell me about myself|who am i|what is in your memory"
        "|what's in your memory"
    ),
    today=phrases(
        "what happened today|what has happened today|what did i do today|what did i tell you today"
        "|what did i say today|what did i note today|what did you note today"
        "|what have you noted today|what was noted today|what's new today|show today's log"
        "|show me today's log|show today's notes|show me today's notes|show today|today's log"
        "|today's notes|today's note"
    ),
    add_model=phrases(
        "how do i add a model|how do i add a language model|how do i add an ai model"
        "|how do i add an ai|how do i add a llm|how do i add an llm|how do i add models"
        "|how can i add a model|how can i add a language model|how to add a model"
        "|how to add a language model|how do you add a model|add a model|add a language model"
        "|how do i set up a model|how do i set up a language model|how do i configure a model"
        "|how do i connect a model|how do i use a model|how do i use a language model"
        "|how do i get a language model|which models can i use|which models do you support"
        "|what models can i use|how do i use chatgpt|how do i use claude|how do i use ollama"
        "|how do i add chatgpt|how do i add claude|how do i add ollama|how do i connect chatgpt"
        "|how do i connect ollama"
    ),
    orders=phrases(
        "write a|write an|write me|write some|write us|compose a|draw a|draw an|draw the|draw me|generate"
        "|calculate|translate|sing|tell me a joke|tell me a story|open the|open my|play some|play me"
        "|turn on|turn off"
        "|switch on|switch off|send an|make me a|help me|i need help|i need your help|i can't log in"
        "|i cannot log in"
    ),
    ask_first=phrases(
        "who|whom|whose|what|which|when|where|why|how|is|are|am i|was|were|do i|do we|do you|do they|does"
        "|did|have i|have we|have you|have they|has|can|could|should|would|will i|will we|will you|will it"
        "|will the|will my|any idea|i wonder|i'm wondering|i want to know|i need to know|i'd like to know"
        "|i would like to know|i forgot where|i forgot what|i forgot when|i forgot who|i forgot which"
        "|i forgot how|i don't remember|i can't remember|i do not remember|i cannot remember"
        "|i don't know where|i don't know when|i don't know what|i'm looking for|i am looking for"
        "|i can't find|i cannot find|remind me where|remind me when|remind me what|remind me who"
        "|remind me which|remind me how|summarize|summarise|explain|compare|describe|define|list all"
        "|list my|show"
    ),
    conjunctions=phrases(
        "when|where|which|who|what|how|why|is|are|was|were|does|did|has|can|could|would|should"
    ),
    ask_last=phrases("where|when|who"),
    idioms=phrases("what a|how nice|note 5|remember me to|forget-me-not|show starts|define the"),
    subjects=phrases("i|i'm|i've|i'll|i'd|we|we're|we've|we'll|he|he's|she|she's|they|my name is|my name's"),
    verbs=phrases(
        "it's|that's|there's|they're|is|are|am|was|were|has|have|had|will|must|should|can|can't|cannot"
        "|needs|need|likes|like|loves|love|hates|hate|wants|want|prefers|prefer|lives|live|works|work|moved"
        "|moves|owns|plays|speaks|eats|drinks|goes|went|got|gets|takes|took|makes|made|gave|gives|said|says"
        "|told|met|bought|sold|lost|found|left|leaves|leave|arrives|arrive|came|comes|turns|turned|born"
        "|died|called|named|married|costs|cost|starts|begins|opens|closes|ends|broke|isn't|aren't|wasn't"
        "|doesn't|don't|didn't|won't|hasn't|knows|know|uses|use|keeps|keep|lent|owes|paid|became"
    ),
    chat=phrases(
        "hi|hello|hey|hey there|hi there|hello there|howdy|yo|good morning|good afternoon|good evening"
        "|morning|how are you|how are you doing|how's it going|what's up|sup|oops|wow|hm|hmm|please|help"
        "|test|testing|who are you|what are you|what can you do|what do you do|how do you work"
        "|how does this work|start|i'm fine|i am fine|i'm good|welcome|you're welcome|commonplace"
        "|what is this|again|i hate you|i love you|i like you|and you|what's yours|what is yours"
        "|what about you|how about you"
    ),
    thanks=phrases(
        "thanks|thank you|thank you so much|thanks a lot|many thanks|thx|ty|cheers|a lot|very much|so much"
        "|for everything"
    ),
    fine=phrases(
        "ok|okay|k|yes|yep|yeah|yup|no|nope|nah|sure|alright|all right|right|great|cool|nice|good|fine"
        "|perfect|awesome|excellent|got it|i see|never mind|nevermind|well done|good job|no problem"
        "|that's all|that is all|that's it|stop|cancel|sorry|not much|lol|haha|i think so|i don't think so"
        "|i guess so|i hope so|forget it|forget about it"
    ),
    leave=phrases("exit|quit|q|wq|logout|log out"),
)
