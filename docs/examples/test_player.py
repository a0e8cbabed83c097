def test_the_tempo_is_what_the_song_says(strobe_launch):
    player = strobe_launch(["build/player", "t96", "c", "e", "t120", "g"], trace=["player::*", "song::*"])
    player.wait(timeout=10)
    tempi = [call.arguments["bpm"] for call in player.calls("player::set_tempo")]
    assert tempi == [96, 120]
