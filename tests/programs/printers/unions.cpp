// Unions, of which a tag, or nothing, says which member is there.
#include <cstdint>
#include <cstdio>
#include <cstring>

enum Kind { INTEGER, REAL, TEXT, LINK, NONE = -1 };

struct Node {
    int id;
    Node* next;
};

struct Value {
    Kind kind;
    union {
        long number;
        double real;
        const char* text;
        Node* node;
    } as;
};

struct Cell {
    unsigned char bits;  // of which the lower three are the tag
    union {
        int whole;
        float part;
        char letters[8];
    };
};

union Bare {
    float f;
    uint32_t bits;
};

Node gNode = {7, nullptr};
Value gValues[6];
Cell gCells[3];
Bare gBare;

__attribute__((noinline)) long take(const Value* value, Cell* cell) { return value->as.number + cell->whole; }

int main() {
    long sum = 0;
    gValues[0] = {INTEGER, {42}};
    gValues[1].kind = REAL;
    gValues[1].as.real = 2.5;
    gValues[2].kind = TEXT;
    gValues[2].as.text = "hello";
    gValues[3].kind = LINK;
    gValues[3].as.node = &gNode;
    gValues[4].kind = NONE;
    gValues[5].kind = (Kind)9;
    gCells[0].bits = 0x40;
    gCells[0].whole = 3;
    gCells[1].bits = 0x41;
    gCells[1].part = 0.5f;
    gCells[2].bits = 0x42;
    strcpy(gCells[2].letters, "abc");
    gBare.bits = 5;
    for (int i = 0; i < 3; i++) sum += take(&gValues[i], &gCells[i]);
    printf("%d\n", sum != 0);
    return 0;
}
