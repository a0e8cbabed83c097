// Plays a song such as "t96 c e t120 g": tN sets the tempo, in beats per minute, and a letter is a note of one beat.
// Nothing fails, and yet the song drags after t120. The examples of README.md find out why.

#include <cstdio>

namespace song {

/// The number that a text begins with.
int number(const char* text) {
    int value = 0;
    for (int i = 0; i < 2 && text[i] >= '0' && text[i] <= '9'; ++i) value = value * 10 + (text[i] - '0');
    return value;
}

}  // namespace song

namespace player {

int gTempo = 80;

void set_tempo(int bpm) { gTempo = bpm; }

/// How long the note sounds, in seconds.
double play(char note) {
    double seconds = 60.0 / gTempo;
    std::printf("%c", note);
    return seconds;
}

}  // namespace player

int main(int count, char** words) {
    double seconds = 0;
    for (int i = 1; i < count; ++i) {
        if (words[i][0] == 't') {
            player::set_tempo(song::number(words[i] + 1));
        } else {
            seconds += player::play(words[i][0]);
        }
    }
    std::printf(": %.2f s\n", seconds);
}
