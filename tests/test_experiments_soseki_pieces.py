"""What is counted of ways to cut a text."""

from experiments.soseki_pieces import Bytes, Listed, count, growth, learn

LINES = ["猫がいる。", "犬がいる。", "猫が鳴く。"] * 20


def test_what_is_not_on_the_list_is_unknown_and_lost():
    characters = Listed(list, "猫がいる。")
    found = count(characters, ["猫がいる。", "犬がいる。"])
    assert (found["unknown_pieces"], found["sentences_with_unknown"]) == (1, 1)
    assert (found["sentences_lost"], found["pieces"]) == (1, 10)
    assert characters.there_and_back("犬。") == "?。"


def test_bytes_lose_nothing():
    found = count(Bytes(), ["吾輩は🐈である。"])
    assert found["unknown_pieces"] == found["sentences_lost"] == 0
    assert found["pieces"] == len("吾輩は🐈である。".encode())


def test_pieces_that_are_bytes_hold_any_character():
    sizes = {"vocab_size": 280}
    found = count(learn(LINES, **sizes), ["🐈が鳴く。"])
    assert found["unknown_pieces"] == found["sentences_lost"] == 0
    without = learn(LINES, vocab_size=20, byte_fallback=False)
    assert count(without, ["🐈が鳴く。"])["sentences_lost"] == 1


def test_a_vocabulary_grows_with_what_is_new():
    points = growth(["ab", "ab", "cd"], 6)["read_and_seen"]
    assert points == [[0, 0], [2, 2], [4, 2], [6, 4]]
