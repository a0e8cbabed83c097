// A list whose nodes are made, linked, looked at, given away in other ways and dropped; prints where they were.
#include <stdio.h>
#include <string.h>

namespace list {

struct Node {
    int number;
    Node* next;
    char name[16];
};

struct Owner {
    Node* first;
    long count;
};

__attribute__((noinline)) Node* make(int number) {
    Node* node = new Node{number, nullptr, ""};
    snprintf(node->name, sizeof node->name, "node %d", number);
    return node;
}

__attribute__((noinline)) void link(Node* node, Node* next) { node->next = next; }

__attribute__((noinline)) int look(const Node* node) { return node->number; }

__attribute__((noinline)) long count(const Owner& owner) { return owner.count; }

__attribute__((noinline)) size_t told(const char* text) { return strlen(text); }

__attribute__((noinline)) void pass(Owner owner) { __asm__ volatile("" ::"r"(owner.first)); }

__attribute__((noinline)) void drop(Node* node) { delete node; }

}  // namespace list

int main() {
    list::Node* first = list::make(1);
    list::Node* second = list::make(2);
    list::look(first);
    list::link(first, second);
    list::look(first);
    const list::Owner owner = {second, 1};
    list::count(owner);
    list::pass(owner);
    list::told(second->name);
    first->next = nullptr;
    for (int i = 0; i < 500; i++) list::look(first);
    void* const where[] = {first, second};
    list::drop(second);
    printf("%p %p\n", where[0], where[1]);
    list::drop(first);
    return 0;
}
