"""Function words, which say nothing about what an answer claims."""

_ENGLISH = """
a about above after again against all also although am among an and any are around as at be because been before being
below between both but by can cannot could did do does doing done down during each either else even every few for from
further had has have having he her here hers herself him himself his how however i if in into is it its itself just let
may me might more most much must my myself neither no nor not now of off often on once only onto or other others our
ours ourselves out over own per quite rather same shall she should since so some such than that the their theirs them
themselves then there therefore these they this those though through thus to too toward towards under until up upon us
very via was we well were what when where whether which while who whom whose why will with within without would yet you
your yours yourself
isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't wouldn't can't couldn't shouldn't
it's he's she's that's there's i'm you're we're they're i've you've we've they've i'll you'll we'll they'll
additionally overall including based according following given yes ok okay sure
"""

_ABOUT_THE_TASK = """
answer article context describe document documents explain give information list mentioned news overview passage
passages provided question state states summarise summarize summary tell text write
"""

_GERMAN = """
aber alle als am auf aus bei bin bis das dass dem den der des dich dir doch du durch ein eine einem einen einer eines er
es euch für hat hatte ich ihm ihn ihr ihre im ist ja kann kein keine man mich mir mit nach nicht noch nur ob oder ohne
sehr sein seine sich sie sind so über um und uns unter vom von vor wenn werden wie wir wird wurde zu zum zur zwischen
nein
"""

_FRENCH = """
au aux avec ce ces cette dans de des du elle elles en est et eux il ils je la le les leur leurs lui ma mais mes moi mon
même ne nos notre nous ont où par pas pour qu que qui sa sans se ses si sont sur ta te tes toi ton tu un une vos votre
vous été être oui non
"""

_SPANISH = """
al como con cuando del desde donde el ella ellas ellos entre era es esa ese esta este esto estos fue ha han hasta hay
las lo los más mi muy nos o para pero por porque que se ser si sin sobre son su sus también tiene un una uno y ya sí
"""

STOP_WORDS = frozenset(f"{_ENGLISH} {_ABOUT_THE_TASK} {_GERMAN} {_FRENCH} {_SPANISH}".split())
"""Case-folded; English with the words that name the task itself, and the commonest of German, French and Spanish."""
