/**
 * What csrc/recorder/arch/aarch64/cpu.h declares for TinyCC, which has no inline assembly for this CPU: machine code that the agent
 * gives to the recorder. `make check-aarch64` assembles the comments, and runs the recorder on
 * the words.
 */

import { makeExecutable, mapAnonymous } from "./libc.js";

const ROUTINES: Record<string, number[]> = {
    strobe_barrier: [
        0xd5033bbf, // dmb ish
        0xd65f03c0, // ret
    ],
    strobe_fetch_add64: [
        0xc85ffc02, // ldaxr x2, [x0]
        0x8b010043, // add x3, x2, x1
        0xc804fc03, // stlxr w4, x3, [x0]
        0x35ffffa4, // cbnz w4, .-12
        0xd5033bbf, // dmb ish
        0xaa0203e0, // mov x0, x2
        0xd65f03c0, // ret
    ],
    strobe_fetch_add32: [
        0x885ffc02, // ldaxr w2, [x0]
        0x0b010043, // add w3, w2, w1
        0x8804fc03, // stlxr w4, w3, [x0]
        0x35ffffa4, // cbnz w4, .-12
        0xd5033bbf, // dmb ish
        0x2a0203e0, // mov w0, w2
        0xd65f03c0, // ret
    ],
    strobe_compare_exchange32: [
        0x885ffc03, // ldaxr w3, [x0]
        0x6b01007f, // cmp w3, w1
        0x540000c1, // b.ne .+24
        0x8804fc02, // stlxr w4, w2, [x0]
        0x35ffff84, // cbnz w4, .-16
        0xd5033bbf, // dmb ish
        0x52800020, // mov w0, 1
        0xd65f03c0, // ret
        0xd5033f5f, // clrex
        0xd5033bbf, // dmb ish
        0x52800000, // mov w0, 0
        0xd65f03c0, // ret
    ],
    strobe_compare_exchange64: [
        0xc85ffc03, // ldaxr x3, [x0]
        0xeb01007f, // cmp x3, x1
        0x540000c1, // b.ne .+24
        0xc804fc02, // stlxr w4, x2, [x0]
        0x35ffff84, // cbnz w4, .-16
        0xd5033bbf, // dmb ish
        0x52800020, // mov w0, 1
        0xd65f03c0, // ret
        0xd5033f5f, // clrex
        0xd5033bbf, // dmb ish
        0x52800000, // mov w0, 0
        0xd65f03c0, // ret
    ],
    strobe_cycles: [
        0xd53be040, // mrs x0, cntvct_el0
        0xd65f03c0, // ret
    ],
    strobe_thread_pointer: [
        0xd53bd040, // mrs x0, tpidr_el0
        0xd65f03c0, // ret
    ],
    strobe_syscall: [
        0xaa0003e8, // mov x8, x0
        0xaa0103e0, // mov x0, x1
        0xaa0203e1, // mov x1, x2
        0xaa0303e2, // mov x2, x3
        0xaa0403e3, // mov x3, x4
        0xaa0503e4, // mov x4, x5
        0xaa0603e5, // mov x5, x6
        0xd4000001, // svc 0
        0xd65f03c0, // ret
    ],
    strobe_sync_code: [
        0x927cec02, // and x2, x0, -16
        0xaa0203e0, // mov x0, x2
        0xd50b7b22, // dc cvau, x2
        0x91004042, // add x2, x2, 16
        0xeb01005f, // cmp x2, x1
        0x54ffffa3, // b.lo .-12
        0xd5033b9f, // dsb ish
        0xd50b7520, // ic ivau, x0
        0x91004000, // add x0, x0, 16
        0xeb01001f, // cmp x0, x1
        0x54ffffa3, // b.lo .-12
        0xd5033b9f, // dsb ish
        0xd5033fdf, // isb
        0xd65f03c0, // ret
    ],
};

/** The routines by name, in memory that outlives the script; none on other CPUs. */
export function cpuRoutines(): Record<string, NativePointer> {
    if (Process.arch !== "arm64") return {};
    const memory = mapAnonymous(Process.pageSize);
    const symbols: Record<string, NativePointer> = {};
    let place = memory;
    for (const [name, words] of Object.entries(ROUTINES)) {
        symbols[name] = place;
        place = place.add(4 * words.length);
    }
    const code = new Uint32Array(Object.values(ROUTINES).flat()).buffer as ArrayBuffer;
    Memory.patchCode(memory, code.byteLength, at => at.writeByteArray(code));
    makeExecutable(memory, Process.pageSize);
    return symbols;
}
