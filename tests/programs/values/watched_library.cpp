// Arguments and results that are classes of the standard library.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct Track {
    std::string name;
    std::vector<int> notes;
    std::optional<double> gain;
};
struct Song {
    std::string title;
    std::vector<Track> tracks;
    std::map<std::string, int> tags;
    std::unique_ptr<Track> lead;
};

__attribute__((noinline)) std::size_t count(const Song& song, std::vector<int> by_value, Song* pointer) {
    return song.tracks.size() + by_value.size() + (pointer != nullptr);
}
__attribute__((noinline)) std::vector<int> made(int size) { return std::vector<int>(size, 7); }

int main() {
    Song song;
    song.title = "abc";
    song.tracks.push_back({"one", {1, 2, 3}, 0.5});
    song.tracks.push_back({"two", {}, {}});
    song.tags = {{"x", 1}, {"y", 2}};
    song.lead = std::make_unique<Track>(Track{"lead", {9}, {}});
    return count(song, {5, 6}, &song) + made(3).size() == 8 ? 0 : 1;
}
