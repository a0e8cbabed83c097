/**
 * The places in libraries of the process that are changed whatever is traced: `_exit`, whose call says how the program ended, and that
 * the recorder was on until then; `unshare` and `setns`, which fail where the process has threads, as the agent's are; and the function
 * that the dynamic linker calls when libraries come and go, which Frida has hooked. A forked child has no agent:
 * what Frida would do there waits for threads and locks for ever (csrc/recorder/arch/x86_64/guards.c, process_hooks.c).
 */

import { LONE_SETNS, LONE_UNSHARE } from "./abi.js";
import { globalExport, libraryExport, makeExecutable, mapWipedInChildren } from "./libc.js";
import { mapNear } from "./near_memory.js";
import type { Recorder } from "./recorder.js";

const PAGE = 4096;
const JUMP = 0xe9; // jmp rel32
const JUMP_BYTES = 5;
const MARK = 0xfa1e0ff3; // endbr64
const MARK_BYTES = 4;
const CACHE_LINE = 64;
const WORD_BYTES = 8;
const COMPARE_AT_RAX = new Uint8Array([0x83, 0x38, 0x00]); // cmp dword [rax], 0
const NOTIFIER_OFFSET = 16; // of r_brk in struct r_debug, where the address of the dynamic linker's function lies

interface Change {
    address: NativePointer;
    original: ArrayBuffer;
    own: ArrayBuffer;
}

/** As the host is told of one; bytes in hexadecimal digits. */
export interface ToldChange {
    address: string;
    present: string;
    original: string;
}

export class ProcessHooks {
    private readonly changes: Change[] = [];
    private readonly lone: Change[] = [];

    /** `write` puts the code at the address and gives how many bytes that took: none where the CPU has no such code. */
    private place(recorder: Recorder, at: NativePointer, write: (memory: NativePointer) => number): boolean {
        const memory = mapNear(at, at.add(JUMP_BYTES), PAGE);
        if (write(memory) === 0) return false;
        makeExecutable(memory, PAGE);
        const jump = Memory.alloc(8);
        jump.writeU8(JUMP).add(1).writeS32(memory.sub(at.add(JUMP_BYTES)).toInt32());
        const own = jump.readByteArray(JUMP_BYTES) as ArrayBuffer;
        const original = at.readByteArray(JUMP_BYTES) as ArrayBuffer;
        if (!recorder.replaceCode(at, own)) return false;
        this.changes.push({ address: at, original, own });
        return true;
    }

    /** False where a probe of Interceptor's must do. */
    noteExit(recorder: Recorder, write: (memory: NativePointer) => number): boolean {
        return this.place(recorder, behindMark(globalExport("_exit")), write);
    }

    /**
     * Calls that need a process of one thread wait in what `write` puts at the memory, until the agent has left. Gives what has changed: the
     * host takes it back when no thread of the agent is there any more, and nobody else can.
     */
    waitUntilAlone(recorder: Recorder, write: (memory: NativePointer, call: number, displaced: NativePointer) => number): ToldChange[] {
        for (const [name, call] of [["unshare", LONE_UNSHARE], ["setns", LONE_SETNS]] as const) {
            const entry = libraryExport(name);
            if (entry === null) continue;
            const at = behindMark(entry);
            if (this.place(recorder, at, memory => write(memory, call, at))) this.lone.push(this.changes.pop() as Change);
        }
        return this.lone.map(({ address, original, own }) => ({ address: address.toString(), present: digits(own), original: digits(original) }));
    }

    /** `write` is given where Frida's hook leads. False where there is none. */
    guardLoader(recorder: Recorder, write: (memory: NativePointer, leadsTo: NativePointer) => number): boolean {
        Process.enumerateModules(); // Frida hooks it when it first looks for libraries
        const linker = Module.findGlobalExportByName("_r_debug");
        if (linker === null) return true;
        const at = behindMark(linker.add(NOTIFIER_OFFSET).readPointer());
        if (at.readU8() !== JUMP) return false;
        const leadsTo = at.add(JUMP_BYTES).add(at.add(1).readS32());
        if (this.place(recorder, at, memory => write(memory, leadsTo))) this.changes.pop();
        return true;
    }

    /**
     * Not of the guard, which keeps threads from Frida's hook until Frida, when it goes, puts back what it has changed. `isHostThere`: it
     * takes back what calls wait in.
     */
    restore(recorder: Recorder, isHostThere: boolean): void {
        if (!isHostThere) this.changes.push(...this.lone.splice(0));
        for (const { address, original, own } of this.changes.reverse())
            if (same(address.readByteArray(JUMP_BYTES) as ArrayBuffer, own)) recorder.replaceCode(address, original);
        this.changes.length = 0;
    }
}

/**
 * In front of Frida's hook until guardLoader has its own there, which takes a compiler: a child that is forked meanwhile leaves at once.
 * The host holds the program's threads until this has returned.
 */
export function guardLoaderAtOnce(): void {
    const linker = Process.arch === "x64" ? Module.findGlobalExportByName("_r_debug") : null;
    if (linker === null) return;
    Process.enumerateModules(); // Frida hooks it at the latest now
    Interceptor.flush();
    const at = behindMark(linker.add(NOTIFIER_OFFSET).readPointer());
    const inLine = at.and(CACHE_LINE - 1).toUInt32();
    if (at.readU8() !== JUMP || inLine > CACHE_LINE - WORD_BYTES) return; // to be written at once, while threads run
    const leadsTo = at.add(JUMP_BYTES).add(at.add(1).readS32());
    const parent = mapWipedInChildren(PAGE);
    parent.writeU32(1);
    const code = mapNear(at, at.add(JUMP_BYTES), PAGE);
    const writer = new X86Writer(code, { pc: code });
    writer.putPushfx();
    writer.putPushReg("rax");
    writer.putMovRegAddress("rax", parent);
    writer.putBytes(COMPARE_AT_RAX.buffer as ArrayBuffer);
    writer.putJccShortLabel("je", "child", "no-hint");
    writer.putPopReg("rax");
    writer.putPopfx();
    writer.putJmpAddress(leadsTo);
    writer.putLabel("child");
    writer.putPopReg("rax");
    writer.putPopfx();
    writer.putRet();
    writer.flush();
    makeExecutable(code, PAGE);
    const jump = Memory.alloc(WORD_BYTES);
    jump.writeByteArray(at.readByteArray(WORD_BYTES) as ArrayBuffer);
    jump.add(1).writeS32(code.sub(at.add(JUMP_BYTES)).toInt32());
    Memory.patchCode(at, WORD_BYTES, place => place.writeU64(jump.readU64()));
}

function behindMark(address: NativePointer): NativePointer {
    return address.readU32() === MARK ? address.add(MARK_BYTES) : address;
}

function digits(bytes: ArrayBuffer): string {
    return Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, "0")).join("");
}

function same(one: ArrayBuffer, other: ArrayBuffer): boolean {
    const [left, right] = [new Uint8Array(one), new Uint8Array(other)];
    return left.every((byte, index) => byte === right[index]);
}
