/* Functions by what stands in their first five bytes, which a hook displaces. Each returns the same traced and
 * untraced. */
#include <stdio.h>

long twice(long value) { return 2 * value; }
long (*volatile pointer)(long) = twice;
long cell = 7;

#define FUNCTION(name, body)                                                                                     \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body \
            "\n.cfi_endproc\n.size " #name ", . - " #name "\n.p2align 4\n");                                     \
    long name(long value, ...)

FUNCTION(begins_with_call, "call twice\nadd $1, %rax\nret");
FUNCTION(call_after_push, "push %rbx\ncall twice\npop %rbx\nadd $2, %rax\nret");
FUNCTION(call_through_memory, "call *pointer(%rip)\nadd $3, %rax\nret");
FUNCTION(call_through_register, "mov %rsi, %rdx\ncall *%rdx\nadd $4, %rax\nret");
FUNCTION(call_returns_into_the_hook, "push %rbx\ncall *%rsi\npop %rbx\nnop\nret");
FUNCTION(begins_with_jump, "jmp twice");
FUNCTION(short_jump, "jmp 1f\nnop\nnop\nnop\nnop\n1: lea 5(%rdi), %rax\nret");
FUNCTION(jump_through_memory, "jmp *pointer(%rip)");
FUNCTION(conditional, "test %rdi, %rdi\njs 1f\nlea 6(%rdi), %rax\nret\n1: mov %rdi, %rax\nret");
FUNCTION(long_conditional,
         "cmp %esi, %edi\n.byte 0x0f, 0x84\n.long 1f - . - 4\nlea 7(%rdi), %rax\nret\n1: xor %eax, %eax\nret");
FUNCTION(relative_load, "mov cell(%rip), %rax\nadd %rdi, %rax\nret");
FUNCTION(relative_store, "movq $5, cell(%rip)\nmov cell(%rip), %rax\nmovq $7, cell(%rip)\nret");
FUNCTION(relative_immediate_behind, "cmpb $7, cell(%rip)\nsete %al\nmovzbl %al, %eax\nret");
FUNCTION(relative_address, "lea cell(%rip), %rax\nmov (%rax), %rax\nret");
FUNCTION(counts_down, "push %rcx\njrcxz 1f\nlea 8(%rdi), %rax\npop %rcx\nret\n1: lea 9(%rdi), %rax\npop %rcx\nret");
FUNCTION(loops, "mov %edi, %ecx\nloop 1f\nmov $1, %eax\nret\n1: lea 10(%rdi), %rax\nret");
FUNCTION(marked, "endbr64\nlea 11(%rdi), %rax\nret");
FUNCTION(marked_and_short, "endbr64\nret");
FUNCTION(loops_to_its_mark, "endbr64\nadd $3, %rdi\ncmp $100, %rdi\njl loops_to_its_mark\nmov %rdi, %rax\nret");
FUNCTION(loops_behind_its_mark, "endbr64\n1: add $3, %rdi\ncmp $100, %rdi\njl 1b\nmov %rdi, %rax\nret");
FUNCTION(loops_into_the_hook, "push %rdi\n1: add $3, %rdi\ncmp $100, %rdi\njl 1b\npop %rax\nmov %rdi, %rax\nret");
FUNCTION(uses_the_red_zone, "mov %rdi, -8(%rsp)\nlea cell(%rip), %rax\nmov -8(%rsp), %rax\nret");
FUNCTION(one_byte, "ret");
FUNCTION(two_instructions, "mov %edi, %eax\nret");

#define SHOW(call) printf(#call " = %ld\n", call)

int main(void) {
    for (long round = -1; round < 3; round++) {
        SHOW(begins_with_call(round));
        SHOW(call_after_push(round));
        SHOW(call_through_memory(round));
        SHOW(call_through_register(round, twice));
        SHOW(call_returns_into_the_hook(round, twice));
        SHOW(begins_with_jump(round));
        SHOW(short_jump(round));
        SHOW(jump_through_memory(round));
        SHOW(conditional(round));
        SHOW(long_conditional(round, 1));
        SHOW(relative_load(round));
        SHOW(relative_store(round));
        SHOW(relative_immediate_behind(round));
        SHOW(relative_address(round));
        SHOW(counts_down(round, 0, 0, round));
        SHOW(loops(round));
        SHOW(marked(round));
        marked_and_short(round);
        SHOW(loops_to_its_mark(round));
        SHOW(loops_behind_its_mark(round));
        SHOW(loops_into_the_hook(round));
        SHOW(uses_the_red_zone(round));
        one_byte(round);
        SHOW(two_instructions(round));
    }
    return 0;
}
