"""The words of the built-in grammar: what there is to say.

Nouns are grouped by kind, and a verb says which kinds it goes with, so that
people eat food and read books. Japanese verbs are in the plain style.
"""

from functools import cache
from typing import NamedTuple


class Noun(NamedTuple):
    """A common noun; ``plural`` and ``counter`` are empty for a mass."""

    en: str
    plural: str
    ja: str
    counter: str
    gender: str
    kind: str


class Verb(NamedTuple):
    """A verb with its arguments.

    ``subjects``, ``objects``, ``places`` and ``tools`` are words separated by
    spaces: kinds of nouns, or single nouns.
    """

    en: str
    """Base, third person, past and -ing form."""
    ja: str
    """Dictionary form; a word before it, as in 勉強 する, stays as it is."""
    objects: str = ""
    particle: str = "を"
    preposition: str = ""
    """English preposition in the place of the particle."""
    subjects: str = "person"
    places: str = ""
    tools: str = ""
    traits: str = ""
    """state: lasts, so Japanese says ている where English says loves;
    moment: has no -ing form here; able: goes with can;
    together: goes with a companion; one: to one thing at a time."""

    @property
    def forms(self) -> list[str]:
        """English base, third person, past and -ing form."""
        return self.en.split()

    @property
    def by_people(self) -> bool:
        """True if anybody can do it."""
        return "person" in self.subjects.split()

    @property
    def goes_out(self) -> bool:
        """True for an outdoor activity: going somewhere, sports."""
        kinds = {"place", "sport", "bicycle"}
        return not kinds.isdisjoint(self.objects.split())

    def has(self, trait: str) -> bool:
        """True if ``trait`` is among the verb's traits."""
        return trait in self.traits

    def lasts(self, negated: bool) -> bool:
        """True where Japanese uses ている; but not to know is 知ら ない."""
        return self.has("state") and not (negated and self.ja == "知る")


class Adjective(NamedTuple):
    """An adjective; ``before`` stands before a noun, ``after`` ends clauses.

    The last word of ``after`` is inflected if it ends in い; else it takes
    the copula. Without ``after`` it stands before nouns only.
    """

    en: str
    comparative: str
    before: str
    after: str
    kinds: str


class Pronoun(NamedTuple):
    """A personal pronoun: its English cases, and its Japanese."""

    subject: str
    object: str
    possessive: str
    ja: str
    person: int
    plural: bool
    gender: str


PRONOUNS = {
    row[0]: Pronoun(*row)
    for row in (
        ("i", "me", "my", "私", 1, False, ""),
        ("you", "you", "your", "君", 2, False, ""),
        ("he", "him", "his", "彼", 3, False, "m"),
        ("she", "her", "her", "彼女", 3, False, "f"),
        ("we", "us", "our", "私 たち", 1, True, ""),
        ("they", "them", "their", "彼ら", 3, True, ""),
    )
}
THEY_WOMEN = Pronoun("they", "them", "their", "彼女 たち", 3, True, "f")
"""Translation of 'they' for women mentioned before."""

NAMES = (
    ("taro", "太郎", "m"),
    ("hanako", "花子", "f"),
    ("ken", "ケン", "m"),
    ("emi", "エミ", "f"),
)

# English, plural, Japanese, counter, gender; "-" for none
_NOUNS = {
    "person": """
        teacher teachers 先生 人 -
        student students 学生 人 -
        doctor doctors 医者 人 -
        friend friends 友人 人 -
        child children 子供 人 -
        boy boys 少年 人 m
        girl girls 少女 人 f
        man men 男性 人 m
        woman women 女性 人 f
    """,
    "parent": """
        mother - 母 - f
        father - 父 - m
    """,
    "animal": """
        cat cats 猫 匹 -
        dog dogs 犬 匹 -
        bird birds 鳥 羽 -
    """,
    "food": """
        apple apples りんご 個 -
        egg eggs 卵 個 -
        cake cakes ケーキ 個 -
        bread - パン - -
        rice - ご飯 - -
    """,
    "prey": """
        fish - 魚 - -
    """,
    "meal": """
        lunch - 昼食 - -
        dinner - 夕食 - -
    """,
    "drink": """
        tea - お茶 - -
    """,
    "plain_drink": """
        milk - ミルク - -
        water - 水 - -
    """,
    "text": """
        book books 本 冊 -
        novel novels 小説 冊 -
        letter letters 手紙 通 -
    """,
    "tool": """
        pen pens ペン 本 -
        camera cameras カメラ 台 -
        umbrella umbrellas 傘 本 -
    """,
    "chopsticks": "chopsticks - 箸 - -",
    "thing": """
        picture pictures 絵 枚 -
        flower flowers 花 本 -
        key keys 鍵 本 -
    """,
    "shirt": """
        shirt shirts シャツ 枚 -
    """,
    "hat": "hat hats 帽子 個 -",
    "shoes": "shoes - 靴 - -",
    "vehicle": """
        bicycle bicycles 自転車 台 -
        car cars 車 台 -
    """,
    "transport": """
        bus buses バス - -
        train trains 電車 - -
    """,
    "instrument": """
        piano pianos ピアノ 台 -
        guitar guitars ギター 本 -
    """,
    "sport": """
        tennis - テニス - -
        soccer - サッカー - -
    """,
    "language": """
        english - 英語 - -
        japanese - 日本語 - -
    """,
    "science": """
        music - 音楽 - -
    """,
    "container": """
        box boxes 箱 個 -
    """,
    "furniture": """
        table tables テーブル 台 -
        chair chairs 椅子 脚 -
    """,
    "city": """
        tokyo - 東京 - -
        kyoto - 京都 - -
    """,
    "place": """
        school schools 学校 - -
        library libraries 図書館 - -
        park parks 公園 - -
        station stations 駅 - -
        town towns 町 - -
    """,
    "home": """
        kitchen kitchens 台所 - -
        garden gardens 庭 - -
    """,
}


def _read_nouns(kind: str, table: str) -> tuple[Noun, ...]:
    rows = [line.split() for line in table.strip().splitlines()]
    return tuple(
        Noun(*("" if cell == "-" else cell for cell in row), kind=kind)
        for row in rows
    )


NOUNS = {kind: _read_nouns(kind, table) for kind, table in _NOUNS.items()}
"""Nouns by kind."""
NOUN = {noun.en: noun for nouns in NOUNS.values() for noun in nouns}
"""Nouns by their English."""


@cache
def nouns(kinds: str) -> tuple[Noun, ...]:
    """The nouns of the kinds, or by the names, that ``kinds`` lists."""
    found: list[Noun] = []
    for word in kinds.split():
        found += NOUNS[word] if word in NOUNS else (NOUN[word],)
    return tuple(found)


PLACE_PREPOSITION = {"school": "at", "station": "at"}
"""in the park, but at the station."""

_GOODS = "food prey drink book novel tool thing shirt hat shoes vehicle"
_PETS = "cat dog"
VERBS = (
    Verb(
        "eat eats ate eating",
        "食べる",
        "food meal prey",
        places="kitchen garden park",
        tools="chopsticks",
        traits="together able",
    ),
    Verb("eat eats ate eating", "食べる", "prey", subjects="animal"),
    Verb(
        "drink drinks drank drinking",
        "飲む",
        "drink plain_drink",
        places="kitchen garden station",
        traits="together",
    ),
    Verb(
        "drink drinks drank drinking",
        "飲む",
        "plain_drink",
        subjects=_PETS,
        places="kitchen garden",
    ),
    Verb(
        "read reads read reading",
        "読む",
        "text",
        places="library park garden school",
        traits="able",
    ),
    Verb(
        "write writes wrote writing",
        "書く",
        "letter novel book",
        places="library park school",
        tools="pen",
        traits="able",
    ),
    Verb("buy buys bought buying", "買う", _GOODS, places="town station"),
    Verb(
        "see sees saw seeing",
        "見る",
        "animal thing vehicle",
        places="park town station garden",
        traits="moment",
    ),
    Verb(
        "wash washes washed washing",
        "洗う",
        "shirt hat shoes vehicle",
        places="garden",
    ),
    Verb("use uses used using", "使う", "tool", traits="able"),
    Verb("wear wears wore wearing", "着る", "shirt", traits="one"),
    Verb("wear wears wore wearing", "かぶる", "hat", traits="one"),
    Verb("wear wears wore wearing", "はく", "shoes", traits="one"),
    Verb(
        "play plays played playing",
        "弾く",
        "instrument",
        places="school",
        traits="able together",
    ),
    Verb(
        "play plays played playing",
        "する",
        "sport",
        places="school park",
        traits="able together",
    ),
    Verb(
        "play plays played playing",
        "遊ぶ",
        subjects=f"child boy girl {_PETS}",
        places="park garden",
        traits="together",
    ),
    Verb("love loves loved loving", "愛する", "person", traits="state"),
    Verb("know knows knew knowing", "知る", "person place", traits="state"),
    Verb("help helps helped helping", "助ける", "person"),
    Verb(
        "meet meets met meeting",
        "会う",
        "person",
        "に",
        places="park station town library",
        traits="moment",
    ),
    Verb(
        "ride rides rode riding",
        "乗る",
        "bicycle transport",
        "に",
        traits="able one",
    ),
    Verb(
        "wait waits waited waiting",
        "待つ",
        "person transport",
        preposition="for",
        places="park station library",
    ),
    Verb(
        "study studies studied studying",
        "勉強 する",
        "language science",
        places="school library",
        traits="together",
    ),
    Verb(
        "make makes made making",
        "作る",
        "cake meal",
        places="kitchen",
        traits="able together",
    ),
    Verb(
        "sleep sleeps slept sleeping",
        "眠る",
        subjects="person animal",
        places="garden park",
    ),
    Verb(
        "run runs ran running",
        "走る",
        subjects=f"person {_PETS}",
        places="park garden town",
        traits="together able",
    ),
    Verb(
        "swim swims swam swimming",
        "泳ぐ",
        subjects="person dog",
        places="school",
        traits="together able",
    ),
    Verb(
        "sing sings sang singing",
        "歌う",
        subjects="person bird",
        places="park garden",
        traits="together able",
    ),
    Verb(
        "work works worked working",
        "働く",
        places="library school station",
        traits="together",
    ),
    Verb(
        "go goes went going", "行く", "place city", "へ", "to", traits="moment"
    ),
    Verb(
        "come comes came coming",
        "来る",
        "place city",
        "へ",
        "to",
        traits="moment",
    ),
    Verb(
        "live lives lived living",
        "住む",
        "city town",
        "に",
        "in",
        traits="state",
    ),
)
GIVING = (
    Verb("give gives gave giving", "あげる", "text tool thing hat"),
    Verb("show shows showed showing", "見せる", "text thing camera"),
    Verb("teach teaches taught teaching", "教える", "language science"),
)
"""Verbs with a recipient."""
LIKE = Verb("like likes liked liking", "好き")
THINK = Verb("think thinks thought thinking", "思う")
SAY = Verb("say says said saying", "言う")
GIVE_TO_ME = Verb("give gives gave giving", "くれる", "text tool thing hat")
"""Japanese has another verb for giving when the speaker receives."""

SEQUELS = (
    ("buy", "read", "book novel"),
    ("buy", "eat", "apple egg cake"),
    ("make", "eat", "cake"),
    ("buy", "use", "pen camera umbrella"),
    ("write", "read", "letter novel"),
    ("buy", "wear", "shirt"),
    ("wash", "wear", "shirt"),
    ("buy", "wash", "bicycle car"),
)
"""Two verbs that can follow each other upon one thing."""

ADJECTIVES = (
    Adjective("wise", "wiser", "賢い", "賢い", "person"),
    Adjective("young", "younger", "若い", "若い", "person parent"),
    Adjective("kind", "kinder", "優しい", "優しい", "person parent"),
    Adjective("tall", "taller", "背 の 高い", "背 が 高い", "person"),
    Adjective("famous", "", "有名 な", "有名", "person"),
    Adjective("busy", "busier", "忙しい", "忙しい", "person parent"),
    Adjective("old", "", "年老い た", "", "person"),
    Adjective(
        "old",
        "older",
        "古い",
        "古い",
        "text tool picture key vehicle place furniture container shirt hat",
    ),
    Adjective(
        "new",
        "newer",
        "新しい",
        "新しい",
        "text tool picture vehicle place shirt hat furniture container",
    ),
    Adjective(
        "big",
        "bigger",
        "大きい",
        "大きい",
        "animal apple egg cake vehicle place furniture container hat",
    ),
    Adjective(
        "small",
        "smaller",
        "小さい",
        "小さい",
        "animal apple egg cake key vehicle furniture container hat",
    ),
    Adjective("white", "", "白い", "白い", "animal shirt hat flower vehicle"),
    Adjective("red", "", "赤い", "赤い", "apple flower shirt hat vehicle"),
)
STATES = (
    Adjective("ill", "", "", "病気", "person"),
    Adjective("busy", "busier", "", "忙しい", "person"),
)
"""Reasons that keep people from doing things."""
OLDER = Adjective("old", "older", "", "年上", "person")
"""The comparison of people: 年上; 古い is for things."""
WEATHER = (
    ("rained", "雨 が 降っ た"),
    ("was raining", "雨 が 降っ て い た"),
    ("snowed", "雪 が 降っ た"),
    ("was cold", "寒かっ た"),
    ("was hot", "暑かっ た"),
)
WEATHER_NOW = (
    ("is raining", "雨 が 降っ て いる"),
    ("is snowing", "雪 が 降っ て いる"),
    ("is cold", "寒い"),
    ("is hot", "暑い"),
)
"""Reasons that keep people at home."""

TENSES = (
    (0.26, "present"),
    (0.34, "past"),
    (0.14, "progressive"),
    (0.06, "past progressive"),
    (0.1, "future"),
    (0.1, "can"),
)
"""The share of each tense."""
FREQUENCY = (("often", "よく"), ("always", "いつも"), ("sometimes", "時々"))
TIMES = {
    "present": (("every day", "毎日"), ("every morning", "毎朝")),
    "past": (
        ("yesterday", "昨日"),
        ("this morning", "今朝"),
        ("last week", "先週"),
    ),
    "progressive": (("now", "今"),),
    "past progressive": (("yesterday", "昨日"),),
    "future": (("tomorrow", "明日"), ("next week", "来週")),
    "can": (),
}
NUMBERS = (("two", "二"), ("three", "三"), ("four", "四"))
INSIDE = {"on": "上", "under": "下", "in": "中"}
"""Japanese has nouns where English has prepositions: テーブル の 上."""
