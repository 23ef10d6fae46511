"""English words with irregular forms: "wrote" and "written" are write, "children" is child.

The list has no forms that are often another word ("rose", "wound", "leaves"), and no verbs that go with
anything ("came", "took"): a question shares those with sentences that do not answer it.
"""

from __future__ import annotations

_VERBS = """
arise arose arisen, awake awoke awoken, beat beaten, begin began begun, bend bent, bite bitten, bleed bled,
blow blew blown, break broke broken, breed bred, build built, burn burnt, buy bought, catch caught,
choose chose chosen, cling clung, creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt,
drink drank drunk, drive drove driven, eat ate eaten, feed fed, fight fought, flee fled, fly flew flown,
forbid forbade forbidden, foresee foresaw foreseen, forget forgot forgotten, forgive forgave forgiven,
freeze froze frozen, grow grew grown, hang hung, hear heard, hide hid hidden, kneel knelt, lead led,
learn learnt, lend lent, lose lost, meet met, mistake mistook mistaken, outgrow outgrew outgrown,
overcome overcame, oversee oversaw overseen, overtake overtook overtaken, overthrow overthrew overthrown,
pay paid, prove proven, rebuild rebuilt, repay repaid, rewrite rewrote rewritten, ride rode ridden,
ring rang rung, rise risen, seek sought, sell sold, send sent, sew sewn, shake shook shaken, shine shone,
shrink shrank shrunk, sing sang sung, sink sank sunk, sleep slept, slide slid, speak spoke spoken,
spend spent, spin spun, steal stole stolen, stick stuck, sting stung, strike struck stricken,
strive strove striven, swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung,
teach taught, tear tore torn, throw threw thrown, tread trod trodden, undergo underwent undergone,
undertake undertook undertaken, undo undid undone, wake woke woken, wear wore worn, weave wove woven,
weep wept, win won, withdraw withdrew withdrawn, withhold withheld, withstand withstood,
write wrote written
"""
_NOUNS = """
alga algae, alumnus alumni, analysis analyses, appendix appendices, bacterium bacteria, calf calves,
child children, crisis crises, criterion criteria, curriculum curricula, diagnosis diagnoses, foot feet,
formula formulae, fungus fungi, goose geese, half halves, hypothesis hypotheses, index indices, knife knives,
larva larvae, loaf loaves, louse lice, man men, matrix matrices, mouse mice, nucleus nuclei, ox oxen,
phenomenon phenomena, shelf shelves, stimulus stimuli, synthesis syntheses, thesis theses, thief thieves,
tooth teeth, vertebra vertebrae, vertex vertices, wife wives, wolf wolves, woman women
"""

# the usual form of a word, then its irregular forms
_WORDS = [line.split() for line in f"{_VERBS},{_NOUNS}".split(",")]

USUAL = {form: usual for usual, *forms in _WORDS for form in forms}
"""The usual form of each irregular one, both in small letters."""
