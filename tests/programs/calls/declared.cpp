// Pointers to classes that a library defines, and strings, of which clang describes nothing. Prints "ready", then
// waits.
#include "declared.h"

#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

struct Named {
    std::string name = "a name";
    int number = 4;
};

Shape* gShape = make_shape();
Hidden* gHidden = make_hidden();
std::string gText = "text";
std::u16string gWide = u"wide";
Named gNamed;
std::vector<std::string> gTexts = {"one", "a text that is longer than fifteen"};

int main() {
    std::cout << "ready " << gShape->number << gText << gWide.size() << gNamed.name << gTexts.size() << std::endl;
    pause();
}
