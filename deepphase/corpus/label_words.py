"""Words for actions and for styles, which name the fields of file names."""

from __future__ import annotations

import re
from collections.abc import Collection


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ACTIONS = _words(
    """
    aim amble attack balance bend block bounce bow box bye byebye call canter carry cartwheel
    cast catch chop clap climb cough crawl crouch cut dance dash dodge drink drive duck eat fall
    fight flip fly gallop gesticulate gesture getup golf grab greet guard guide handshake hang
    hit hop idle jab jog jump kick kneel lean leap lie lift limp locomotion look lunge march nod
    open pace pick pirouette play point pose pray pull punch push reach reload respond rest ride
    roll row run salute shoot shrug sidestep sit skate skip slash sleep slide sneak spin sprint
    squat stair stand standup stomp stop strafe stretch stride strike stroll stumble sway swim
    swing sword talk throw tiptoe trip trot turn twist vault walk warmup wash wave work wrestle
    yawn
    """
)
_STYLES = _words(
    """
    active aggressive anger angry annoyed anxious arrogant ashamed awkward bored brave calm
    careful casual cautious cheerful child childish childlike clumsy cold confident confused
    cool crazy cute depressed disgust disgusted drunk drunken easy elated elderly elegant
    energetic exaggerated excited exhausted fast fat fear fearful feminine femininity flirty
    formal friendly frightened frustrated funny giant girly grumpy happiness happy heavy
    hesitant hot hurried hurt injured joy joyful kid lame lazy light lively loose mad male
    masculine masculinity mechanical melancholic monkey musical natural nervous neutral normal
    notconfident old painful panicked playful proud quick regular relaxed relieved robot robotic
    sad sadness scared sexy shy silly sleepy slow sneaky soft sorry stealthy stiff strong
    strutting surprise surprised tense threatening tired tough uncertain unconfident unsure
    upset weak wild worried young youthful zombie
    """
)
_SUBJECTS = _words(
    """
    actor actress character dancer participant performer person player speaker subject user
    """
)
# Share and number of values whose meaning must be known, and how much rarer the other one must be.
_KNOWN_SHARE, _KNOWN, _RARER = 0.5, 2, 2.0
_WORD = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")


def field_name(values: Collection[str]) -> str | None:
    """ "action" or "style" where most of the values are words for it; None where this is not sure.

    Parameters
    ----------
    values
        The distinct values of a field, such as "walk-turn-left" or "NotConfident".
    """
    counts = {
        name: sum(_has_word(value, words) for value in values)
        for name, words in (("action", _ACTIONS), ("style", _STYLES))
    }
    (name, most), (_, other) = sorted(counts.items(), key=lambda item: -item[1])
    if most < max(_KNOWN, _KNOWN_SHARE * len(values), _RARER * other):
        return None
    return name


def is_subject(word: str) -> bool:
    """Whether a word stands before the number of a performer, as in "subject3"."""
    return word.lower() in _SUBJECTS


def _has_word(value: str, words: Collection[str]) -> bool:
    parts = [part.lower() for part in _WORD.findall(value)]
    return any(form in words for part in (*parts, "".join(parts)) for form in _forms(part))


def _forms(word: str) -> list[str]:
    """The word, and what remains without an English ending."""
    forms = [word, word.removesuffix("s")]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word:
            forms += [stem, f"{stem}e"]
            if stem[-2:-1] == stem[-1:]:
                forms.append(stem[:-1])
    return forms
