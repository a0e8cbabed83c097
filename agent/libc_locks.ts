/**
 * Two locks of glibc that a forked child has as they were, and that threads of the agent hold now and then (csrc/recorder/native/fork.c).
 * They have no names of their own. Each is NULL where it is not found beyond doubt, as in another C library.
 */

import { callInForkedChildren, librarySymbol, loadLibrary } from "./libc.js";

const RECURSIVE = 1; // PTHREAD_MUTEX_RECURSIVE_NP
const STEP = 8;
const MUTEX_BYTES = 24;
const SEARCHED = 8192;
const INSTRUCTIONS = 32;
const LAST_STATE = 2; // locked, and waited for

/**
 * From now on both are free in forked children, and these are the recorder's where it follows them. `path`: of the recorder's native form.
 * The host holds the program's threads until this has returned.
 */
export function prepareForks(path: string): void {
    const library = loadLibrary(path);
    if (library === null) return; // the portable form it is
    const setLocks = new NativeFunction(librarySymbol(library, "strobe_native_set_libc_locks"), "int", ["pointer", "pointer"]);
    const isFirst = setLocks(loaderLock(), exitLock()) !== 0;
    if (isFirst) callInForkedChildren(librarySymbol(library, "strobe_native_after_fork"));
}

/** On its list of libraries, which dl_iterate_phdr holds: in `_rtld_global`, the one recursive mutex that a thread holds while it is called back. */
function loaderLock(): NativePointer {
    const linker = Module.findGlobalExportByName("_rtld_global");
    const iterate = Module.findGlobalExportByName("dl_iterate_phdr");
    const range = linker === null ? null : Process.findRangeByAddress(linker);
    if (linker === null || iterate === null || range === null) return NULL;
    const bytes = Math.min(range.base.add(range.size).sub(linker).toInt32(), SEARCHED) & -STEP;
    const own = Process.getCurrentThreadId();
    let meanwhile = new ArrayBuffer(0);
    const look = new NativeCallback(() => {
        meanwhile = linker.readByteArray(bytes) as ArrayBuffer;
        return 1; // enough
    }, "int", ["pointer", "size_t", "pointer"]);
    // nobody else has the agent's lock meanwhile: they could wait for this one
    new NativeFunction(iterate, "int", ["pointer", "pointer"], { scheduling: "exclusive" })(look, NULL);
    const held = heldBy(own, meanwhile);
    const isSure = held.length === 1 && heldBy(own, linker.readByteArray(bytes) as ArrayBuffer).length === 0;
    return isSure ? linker.add(held[0]) : NULL;
}

/** Offsets. A mutex: lock, count, owner, users, kind. */
function heldBy(owner: number, memory: ArrayBuffer): number[] {
    const words = new Uint32Array(memory);
    const found = [];
    for (let at = 0; at + MUTEX_BYTES <= memory.byteLength; at += STEP) {
        const [lock, count, holder, , kind] = words.subarray(at / 4, at / 4 + 5);
        if (lock !== 0 && count === 1 && holder === owner && kind === RECURSIVE) found.push(at);
    }
    return found;
}

/** On its list of functions to call at exit: what two functions take first that are known to take it. */
function exitLock(): NativePointer {
    const [one, other] = ["on_exit", "__cxa_finalize"].map(firstLock);
    if (one === null || other === null || !one.equals(other)) return NULL;
    const range = Process.findRangeByAddress(one);
    return range !== null && range.protection.startsWith("rw") && one.readU32() <= LAST_STATE ? one : NULL;
}

/** The place of its first `cmpxchg`, at an address that is in the instruction itself, or was loaded into a register before. */
function firstLock(name: string): NativePointer | null {
    const start = Process.arch === "x64" ? Module.findGlobalExportByName(name) : null;
    if (start === null) return null;
    const loaded = new Map<string, NativePointer>();
    let at = start;
    for (let count = 0; count < INSTRUCTIONS; count++) {
        const instruction = Instruction.parse(at) as X86Instruction;
        at = instruction.next;
        const [first, second] = instruction.operands;
        if (instruction.mnemonic.endsWith("cmpxchg") && first.type === "mem") return placeOf(first.value, at, loaded);
        if (instruction.mnemonic === "lea" && first.type === "reg" && second.type === "mem") {
            const place = placeOf(second.value, at, loaded);
            if (place === null) loaded.delete(first.value);
            else loaded.set(first.value, place);
        }
    }
    return null;
}

function placeOf(memory: X86MemOperand["value"], next: NativePointer, loaded: Map<string, NativePointer>): NativePointer | null {
    if (memory.index !== undefined || memory.segment !== undefined) return null;
    const base = memory.base === "rip" ? next : loaded.get(memory.base ?? "");
    return base?.add(memory.disp) ?? null;
}
