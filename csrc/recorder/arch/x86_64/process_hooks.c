/*
 * Functions of the C library that are changed whatever is traced, as machine code written at run time: `_exit`,
 * `unshare`, `setns`. A child gets them by fork, but no agent. So they look at the control page first, which the kernel
 * clears in a child. They outlive the script.
 */
#include "machine_code.h"

/* linux/sched.h */
#define STROBE_CLONE_VM 0x100u
#define STROBE_CLONE_SIGHAND 0x800u
#define STROBE_CLONE_THREAD 0x10000u
#define STROBE_CLONE_NEWTIME 0x80u
#define STROBE_CLONE_NEWNS 0x20000u
#define STROBE_CLONE_NEWUSER 0x10000000u
/* What fails where the process has threads; an entered mount namespace, where they share the root. */
#define STROBE_LONE_UNSHARED (STROBE_CLONE_NEWUSER | STROBE_CLONE_THREAD | STROBE_CLONE_SIGHAND | STROBE_CLONE_VM)
#define STROBE_LONE_ENTERED (STROBE_CLONE_NEWUSER | STROBE_CLONE_NEWNS | STROBE_CLONE_NEWTIME)
#define STROBE_DISPLACED_MOVE 0xb8 /* mov eax, the call's number: all that the jump replaces, and the same anywhere */
#define STROBE_DISPLACED_BYTES 5
#define STROBE_LONE_TURN_NS 5000000
#define STROBE_LONE_TURNS 6000 /* the host may have been killed, and where there is no /proc nobody knows that */
#define STROBE_HOSTS_TURNS 200 /* so long it is the host that knows */
#define STROBE_TASKS_PATH "/proc/self/task"
#define STROBE_TASKS_PATH_AT 1024u /* behind the code */
#define STROBE_TIME_BYTES 16u      /* struct timespec */
#define STROBE_STAT_BYTES 144u
#define STROBE_LINKS_AT 16u  /* in struct stat: the number of links, for a thread each */
#define STROBE_LONE_LINKS 3u /* where there is one thread */

/* mov eax, getpid; syscall; cmp eax, pid; jne: a child of vfork has another one. */
static uint8_t* strobe_put_process_check(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    strobe_put(out, 0xb8, 1);
    strobe_put(out, STROBE_SYS_GETPID, 4);
    strobe_put(out, 0x050f, 2);
    strobe_put(out, 0x3d, 1);
    strobe_put(out, recorder->pid, 4);
    strobe_put(out, 0x75, 1);
    return out->at++;
}

/* What `_exit` does, after a note of its argument for the host, which also says that the recorder was on until
   then. Not of a child of vfork, which shares the memory and has another process id, as far as it may be asked for: in
   its control block there is the parent's. */
uint32_t strobe_exit_routine_write(struct strobe_recorder* recorder, uint8_t* memory) {
    struct strobe_bytes out;
    uint8_t *child, *other, *unasked;
    out.at = memory;
    child = strobe_put_word_check(&out, &recorder->control->notes_exit);
    unasked = strobe_put_word_check(&out, (const uint32_t*)&recorder->may_call_kernel);
    other = strobe_put_process_check(&out, recorder);
    strobe_jump_to_here(unasked, &out);
    strobe_put(&out, 0xb848, 2); /* mov rax, &header->exit_code */
    strobe_put(&out, (uint64_t)&recorder->header->exit_code, 8);
    strobe_put(&out, 0x3889, 2); /* mov [rax], edi */
    strobe_put(&out, 0xb848, 2); /* mov rax, &header->exit_state */
    strobe_put(&out, (uint64_t)&recorder->header->exit_state, 8);
    strobe_put(&out, 0x00c7, 2); /* mov dword [rax], STROBE_EXIT_CALLED */
    strobe_put(&out, STROBE_EXIT_CALLED, 4);
    strobe_jump_to_here(child, &out);
    strobe_jump_to_here(other, &out);
    strobe_put(&out, 0xb8, 1); /* mov eax, exit_group */
    strobe_put(&out, STROBE_SYS_EXIT_GROUP, 4);
    strobe_put(&out, 0x050f, 2); /* syscall */
    strobe_put(&out, 0xf4, 1);   /* hlt: as the C library's own, if a filter of system calls lets it go on */
    return (uint32_t)(out.at - memory);
}

/* What is in a turn of the wait, but the wait: je to where it ends. rdx: &control->lone_call; r8d: turns that are left.
 */
static void strobe_put_lone_looks(struct strobe_bytes* out, const uint8_t* path, uint8_t* done[2]) {
    uint8_t *early, *unknown;
    strobe_put(out, 0x003a83, 3); /* cmp dword [rdx], 0; je */
    strobe_put(out, 0x74, 1);
    done[0] = out->at++;
    strobe_put(out, 0xf88141, 3); /* cmp r8d, turns; ja */
    strobe_put(out, STROBE_LONE_TURNS - STROBE_HOSTS_TURNS, 4);
    strobe_put(out, 0x77, 1);
    early = out->at++;
    strobe_put(out, 0xbf48, 2); /* mov rdi, path */
    strobe_put(out, (uint64_t)path, 8);
    strobe_put(out, 0x24748d48, 4); /* lea rsi, [rsp + bytes] */
    strobe_put(out, STROBE_TIME_BYTES, 1);
    strobe_put(out, 0xb8, 1); /* mov eax, stat; syscall; test eax, eax; jnz */
    strobe_put(out, STROBE_SYS_STAT, 4);
    strobe_put(out, 0x050f, 2);
    strobe_put(out, 0xc085, 2);
    strobe_put(out, 0x75, 1);
    unknown = out->at++;
    strobe_put(out, 0x247c8348, 4); /* cmp qword [rsp + bytes], links; je */
    strobe_put(out, STROBE_TIME_BYTES + STROBE_LINKS_AT, 1);
    strobe_put(out, STROBE_LONE_LINKS, 1);
    strobe_put(out, 0x74, 1);
    done[1] = out->at++;
    strobe_jump_to_here(early, out);
    strobe_jump_to_here(unknown, out);
}

/* jnz */
static void strobe_put_jump_back(struct strobe_bytes* out, const uint8_t* to) {
    strobe_put(out, 0x75, 1);
    *out->at = (uint8_t)(to - (out->at + 1));
    out->at++;
}

static void strobe_put_long_jump(struct strobe_bytes* out, const uint8_t* to) {
    strobe_put(out, 0xe9, 1);
    strobe_put(out, (uint64_t)(to - (out->at + 4)), 4);
}

static void strobe_put_lone_wait(struct strobe_bytes* out, const struct strobe_recorder* recorder, uint32_t call,
                                 const uint8_t* path) {
    uint8_t *turn, *done[2];
    strobe_put(out, 0x5657, 2);   /* push rdi, rsi */
    strobe_put(out, 0xec8148, 3); /* sub rsp, bytes */
    strobe_put(out, STROBE_TIME_BYTES + STROBE_STAT_BYTES, 4);
    strobe_put(out, 0x2404c748, 4); /* mov qword [rsp], 0; mov qword [rsp + 8], nanoseconds */
    strobe_put(out, 0, 4);
    strobe_put(out, 0x082444c748, 5);
    strobe_put(out, STROBE_LONE_TURN_NS, 4);
    strobe_put(out, 0xba48, 2); /* mov rdx, &control->lone_call */
    strobe_put(out, (uint64_t)&recorder->control->lone_call, 8);
    strobe_put(out, 0x047a89, 3); /* mov [rdx + 4], edi */
    strobe_put(out, 0x02c7, 2);   /* mov dword [rdx], call */
    strobe_put(out, call, 4);
    strobe_put(out, 0xb841, 2); /* mov r8d, turns */
    strobe_put(out, STROBE_LONE_TURNS, 4);
    turn = out->at;
    strobe_put_lone_looks(out, path, done);
    strobe_put(out, 0xe78948, 3); /* mov rdi, rsp; mov rsi, rsp: what is left; mov eax, nanosleep; syscall */
    strobe_put(out, 0xe68948, 3);
    strobe_put(out, 0xb8, 1);
    strobe_put(out, STROBE_SYS_NANOSLEEP, 4);
    strobe_put(out, 0x050f, 2);
    strobe_put(out, 0xc085, 2); /* test eax, eax: a signal has come */
    strobe_put_jump_back(out, turn);
    strobe_put(out, 0x082444c7, 4); /* mov dword [rsp + 8], nanoseconds: after a signal there was less */
    strobe_put(out, STROBE_LONE_TURN_NS, 4);
    strobe_put(out, 0xc8ff41, 3); /* dec r8d */
    strobe_put_jump_back(out, turn);
    strobe_jump_to_here(done[0], out);
    strobe_jump_to_here(done[1], out);
    strobe_put(out, 0x02c7, 2); /* mov dword [rdx], 0 */
    strobe_put(out, 0, 4);
    strobe_put(out, 0xc48148, 3); /* add rsp, bytes; pop rsi, rdi */
    strobe_put(out, STROBE_TIME_BYTES + STROBE_STAT_BYTES, 4);
    strobe_put(out, 0x5f5e, 2);
}

/* Calls that the kernel refuses a process with more than one thread wait until the agent's are gone: the host ends the
   recording, and clears lone_call. Where it was killed the agent leaves by itself, and the thread sees that it is
   alone. Not where it cannot be waited, nor in a child of vfork. */
uint32_t strobe_lone_routine_write(struct strobe_recorder* recorder, uint8_t* memory, uint32_t call,
                                   const uint8_t* displaced) {
    struct strobe_bytes out;
    uint8_t *child, *other, *unasked, *unlimited, *any_kind = NULL, *waits, *straight;
    uint32_t index;
    if (displaced[0] != STROBE_DISPLACED_MOVE) return 0;
    out.at = memory + STROBE_TASKS_PATH_AT;
    for (index = 0; index < sizeof STROBE_TASKS_PATH; index++) strobe_put(&out, (uint8_t)STROBE_TASKS_PATH[index], 1);
    out.at = memory;
    child = strobe_put_word_check(&out, &recorder->control->lone_waits);
    if (call == STROBE_LONE_UNSHARE) {
        strobe_put(&out, 0xc7f7, 2); /* test edi, flags; jz */
        strobe_put(&out, STROBE_LONE_UNSHARED, 4);
    } else {
        strobe_put(&out, 0xf685, 2); /* test esi, esi; jz: a namespace of any kind */
        strobe_put(&out, 0x74, 1);
        any_kind = out.at++;
        strobe_put(&out, 0xc6f7, 2); /* test esi, kinds; jz */
        strobe_put(&out, STROBE_LONE_ENTERED, 4);
    }
    strobe_put(&out, 0x74, 1);
    unlimited = out.at++;
    if (any_kind != NULL) strobe_jump_to_here(any_kind, &out);
    unasked = strobe_put_word_check(&out, (const uint32_t*)&recorder->may_call_kernel);
    other = strobe_put_process_check(&out, recorder);
    strobe_put(&out, 0xeb, 1); /* jmp */
    waits = out.at++;
    straight = out.at;
    strobe_jump_to_here(child, &out);
    strobe_jump_to_here(unlimited, &out);
    strobe_jump_to_here(unasked, &out);
    strobe_jump_to_here(other, &out);
    for (index = 0; index < STROBE_DISPLACED_BYTES; index++) strobe_put(&out, displaced[index], 1);
    strobe_put_long_jump(&out, displaced + STROBE_DISPLACED_BYTES);
    strobe_jump_to_here(waits, &out);
    strobe_put_lone_wait(&out, recorder, call, memory + STROBE_TASKS_PATH_AT);
    strobe_put_long_jump(&out, straight);
    return (uint32_t)(out.at - memory);
}

void* strobe_exit_probe_write(struct strobe_recorder* recorder, uint32_t cpu_offset, uint32_t rdi_offset) {
    (void)recorder;
    (void)cpu_offset;
    (void)rdi_offset;
    return NULL;
}
