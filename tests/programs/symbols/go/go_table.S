// Two functions with a table as Go 1.18 and later have it (magic number and section by the test), in a program of C.
#ifndef MAGIC
#define MAGIC 0xfffffff1
#define TABLE ".gopclntab","a"
#define HEADER_TEXT code
#endif
    .text
    .globl exported_in_c
    .type exported_in_c, @function
exported_in_c:
    ret
    .size exported_in_c, . - exported_in_c
    .balign 64
code:
    nop
    nop
work:
    mov $7, %eax
    ret
    .balign 32
server:
    ret
code_end:
    .balign 32
    .globl main
    .type main, @function
main:
    xor %eax, %eax
    ret
    .size main, . - main

    .section TABLE
    .balign 8
table:
    .long MAGIC
    .byte 0, 0, 1, 8
    .quad 2, 2, HEADER_TEXT
    .quad names - table, units - table, files - table, values - table, functions - table
names:
    .asciz "main.work"
server_name:
    .asciz "main.(*Server).Serve"
    .balign 4
units:
    .long 0, server_file - files
files:
    .asciz "/src/app/main.go"
server_file:
    .asciz "/src/app/server.go"
values:
    .byte 0
first_file:
    .byte 2, 9, 0
second_file:
    .byte 4, 9, 0
line_12:
    .byte 26, 9, 0
line_300:
    .byte 0xda, 0x04, 9, 0
    .balign 8
functions:
    .long work - code, work_function - functions
    .long server - code, server_function - functions
    .long code_end - code
work_function:
    .long work - code, 0, 0, 0, 0, first_file - values, line_12 - values, 0, 0, 12
    .byte 0, 0, 0, 0
server_function:
    .long server - code, server_name - names, 0, 0, 0, second_file - values, line_300 - values, 0, 0, 300
    .byte 0, 0, 0, 0

    .section .go.buildinfo,"aw"
    .quad 0
    .section .note.GNU-stack,"",@progbits
