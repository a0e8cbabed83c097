// Texts of several kinds, compared with each other; each comparison is counted, and printed at the end.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

struct Slice {
    const char* data;
    unsigned long size;
};

struct File {
    std::string largest;
    char name[12];
};

static int held[8];
static volatile int seen;

static bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }
static bool ends(std::string_view text, std::string_view with) {
    return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}

__attribute__((noinline)) static void look(const Slice& key, const File* file, const char* plain,
                                           std::string_view view) {
    const std::string_view slice(key.data, key.size);
    held[0] += starts(file->largest, slice);
    held[1] += slice == plain;
    held[2] += ends(view, file->name);
    held[3] += file->largest.find(view) != std::string::npos;
    held[4] += plain != view;
    held[5] += file->largest[3] == 'i' && key.data[key.size - 1] > '4';
    held[6] += *reinterpret_cast<const unsigned short*>(key.data + 9) == 0x3030;
    held[7] += std::string_view(file->name).substr(1, 2) == std::string_view(plain).substr(1, 2);
    seen = held[0];  // looked
}

int main() {
    for (int i = 0; i < 60; i++) {
        File file;
        char text[32];
        std::snprintf(text, sizeof text, "article-%03d", i * 7 % 40);
        file.largest = std::string("article-") + (i % 3 ? "007" : "014") + std::string("\x01\x02", 2);
        std::strcpy(file.name, i % 5 ? "arc" : "article-");
        if (i % 6 == 0) text[2] = 'x';
        look({text, static_cast<unsigned long>(9 + i % 3)}, &file, text, std::string_view(text, 6 + i % 6));
    }
    for (const int count : held) std::printf("%d\n", count);
}
