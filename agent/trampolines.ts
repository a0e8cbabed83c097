/**
 * Trampolines: what the host asks for (ProbeSpecs), and what it gets (Trampoline); strobe/capture/probes.py has the same on its side.
 * They are our own: csrc/recorder/arch/x86_64/trampolines.c writes them, here is found where. The host writes the jumps to them, and takes
 * these out again, while no thread stands in the middle of what they replace (csrc/patch).
 * On other CPUs than x86-64 Interceptor makes and writes them itself, which is why the host asks only before the program runs.
 */

import {
    CODE_BEHIND, ENTRY_LOOPS, ENTRY_REFUSAL, PLAN_LOOPS_TO_ENTRY, REFUSED_IN_USE, REFUSED_INTERCEPTOR, REFUSED_NOT_CODE, REFUSED_NOTHING,
    REFUSED_TOO_FAR, REFUSED_UNLOADED, TRAMPOLINE, TRAMPOLINE_BYTES, TRAMPOLINES_HEADER,
} from "./abi.js";
import { type CodeChanges, digits, type Jump } from "./code_changes.js";
import { makeExecutable, unmap } from "./libc.js";
import { forgetRemovals, isUnloaded } from "./modules.js";
import { mapNear } from "./near_memory.js";
import { PresentCode } from "./present_code.js";
import type { Recorder } from "./recorder.js";

const NUMBER_OFFSET = 8;
const JUMP_BYTES = 5;
const GROUP_SPAN = ptr(0x20000000); // functions that share memory lie so close together
const BATCH = 100; // Interceptor's transactions are quadratic in their size

export interface ProbeSpecs {
    ids: number[];
    /** Where the functions lie. */
    addresses: string[];
    sizes: number[];
}

export interface Trampoline {
    /** Why there is none: REFUSED_… */
    refusal: number;
    /** Where the jump is to lead; nowhere where Interceptor has written it. */
    address: string;
    /** The jump lies so many bytes behind the function's entry. */
    skip: number;
    /** Bytes of the instructions that begin in the first 5. */
    displaced: number;
    /** Copies of the instructions 1 to 4 bytes behind the jump's first: a byte each, how far behind `address`. 0: none begins there. */
    copies: number;
    /** There lies `number` for as long as the trampoline does; nowhere where there is none. */
    mark: string;
    number: number;
    /** What stood where the jump is to lie, in hexadecimal digits. */
    original: string;
}

function refused(reason: number): Trampoline {
    return { refusal: reason, address: "0x0", skip: 0, displaced: 0, copies: 0, mark: "0x0", number: 0, original: "" };
}

/** What the agent's compiled part does at functions' entries: csrc/recorder/arch. */
export class EntryTools {
    /** What Interceptor calls; only there where it writes the jumps. */
    readonly onEnter: NativePointer;
    /** Null where our own trampolines are written, which look for themselves. */
    private readonly checkPatchable_: ((
        count: number, addresses: NativePointer, sizes: NativePointer, results: NativePointer) => void) | null;
    /** Null for a CPU that has no native form. */
    private readonly write_: ((
        count: number, trampolines: NativePointer, memory: NativePointer, enter: UInt64, copy: NativePointer,
        changes: NativePointer, changeCount: number) => number) | null;

    constructor(tools: Record<string, NativePointer>) {
        this.onEnter = tools.strobe_on_enter;
        const checkPatchable = tools.strobe_agent_check_patchable as NativePointer | undefined;
        this.checkPatchable_ = checkPatchable === undefined ? null : new NativeFunction(
            checkPatchable, "void", ["uint32", "pointer", "pointer", "pointer"]);
        const write = tools.strobe_agent_write_trampolines as NativePointer | undefined;
        this.write_ = write === undefined ? null : new NativeFunction(
            write, "int", ["uint32", "pointer", "pointer", "uint64", "pointer", "pointer", "uint64"]);
    }

    /** STROBE_ENTRY_* for each function. */
    checkPatchable(addresses: NativePointer[], sizes: number[]): Uint32Array {
        const count = addresses.length;
        const places = Memory.alloc(Math.max(8 * count, 8));
        const lengths = Memory.alloc(Math.max(8 * count, 8));
        const results = Memory.alloc(Math.max(4 * count, 4));
        addresses.forEach((address, index) => places.add(8 * index).writePointer(address));
        sizes.forEach((size, index) => lengths.add(8 * index).writeU64(size));
        this.checkPatchable_?.(count, places, lengths, results);
        return new Uint32Array(results.readByteArray(4 * count) as ArrayBuffer);
    }

    /**
     * `trampolines`: struct strobe_trampoline each, filled in, of functions up to `longest` bytes; `memory`: writable, and within reach of
     * all of them; `enter`: where they lead; `changes`: what stands in the code for whom.
     */
    write(
        count: number, trampolines: NativePointer, memory: NativePointer, longest: number, enter: NativePointer, changes: CodeChanges,
    ): void {
        const copy = Memory.alloc(longest + CODE_BEHIND);
        const result = this.write_?.(count, trampolines, memory, uint64(enter.toString()), copy, changes.list, changes.length);
        if (result !== 0) throw new Error("there is no decoder");
    }
}

export class Hooks {
    constructor(private readonly recorder: Recorder) {}

    /**
     * Changes no code of the program, but where Interceptor writes the hooks. `plans`: as Recorder.setPlans takes them. `removals`: the last
     * removal of a library that the host has dealt with.
     */
    makeTrampolines(specs: ProbeSpecs, plans: ArrayBuffer, removals: number): Trampoline[] {
        this.recorder.setPlans(specs.ids, plans);
        const code = new PresentCode();
        const there = specs.ids.map((_, index) => code.has(Number(specs.addresses[index]), specs.sizes[index]));
        const present = <T>(items: T[]): T[] => items.filter((_, index) => there[index]);
        const { ids, addresses, sizes } = specs;
        forgetRemovals(removals);
        const made = this.make({ ids: present(ids), addresses: present(addresses), sizes: present(sizes) });
        let next = 0;
        return there.map((isThere, index) => {
            const trampoline = isThere ? made[next++] : refused(REFUSED_NOT_CODE);
            return isUnloaded(ptr(addresses[index])) ? refused(REFUSED_UNLOADED) : trampoline;
        });
    }

    private make(specs: ProbeSpecs): Trampoline[] {
        return this.recorder.enter === null ? this.attachAll(specs) : this.makeOwn(specs);
    }

    private makeOwn(specs: ProbeSpecs): Trampoline[] {
        const { addresses } = specs; // of one module, mostly; it may be asked for more at once
        for (const entry of new Set([addresses.at(0), addresses.at(-1)])) {
            if (entry !== undefined) this.recorder.observers?.noteTraced(ptr(entry));
        }
        const { trampolines, loops } = makeTrampolines(this.recorder, specs);
        this.noteLoops(specs, loops);
        this.recorder.codeChanges.note(jumpsOf(specs.addresses, trampolines));
        return trampolines;
    }

    private noteLoops(specs: ProbeSpecs, loops: boolean[]): void {
        this.recorder.addFlags(specs.ids.filter((_, index) => loops[index]), PLAN_LOOPS_TO_ENTRY);
    }

    private attachAll(specs: ProbeSpecs): Trampoline[] {
        const addresses = specs.addresses.map(address => ptr(address));
        const checks = this.recorder.entries.checkPatchable(addresses, specs.sizes);
        this.noteLoops(specs, [...checks].map(check => (check & ENTRY_LOOPS) !== 0));
        const attached = addresses.map((address, index) => {
            if (index % BATCH === 0) Interceptor.flush();
            const refusal = checks[index] & ENTRY_REFUSAL;
            return refusal === REFUSED_NOTHING ? this.attach(specs.ids[index], address) : refused(refusal);
        });
        Interceptor.flush();
        return attached;
    }

    private attach(id: number, entry: NativePointer): Trampoline {
        const callbacks = this.recorder.entries.onEnter as unknown as NativeInvocationListenerCallbacks;
        try {
            Interceptor.attach(entry, callbacks, ptr(id));
        } catch {
            return refused(REFUSED_INTERCEPTOR);
        }
        return refused(REFUSED_NOTHING); // nothing is left for the host to write
    }
}

/** All memory that has trampolines: a function may be both observed and traced. */
let own: { start: NativePointer; end: NativePointer; first: NativePointer; last: NativePointer }[] = [];

let numbers = 0; // of the memory that was ever made

function isOwn(address: NativePointer): boolean {
    return own.some(({ start, end }) => address.compare(start) >= 0 && address.compare(end) < 0);
}

/** A library was unloaded: with its functions nobody calls their trampolines any more. `leave` is told of each memory before it goes. */
export function forgetTrampolines(base: NativePointer, size: number, leave: (start: NativePointer, bytes: number) => void): void {
    const isGone = (address: NativePointer): boolean => address.compare(base) >= 0 && address.compare(base.add(size)) < 0;
    const gone = own.filter(({ first, last }) => isGone(first) && isGone(last));
    for (const { start, end } of gone) {
        const bytes = end.sub(start).toUInt32();
        leave(start, bytes);
        unmap(start, bytes);
    }
    own = own.filter(memory => !gone.includes(memory));
}

/** Those that the host is to write. */
export function jumpsOf(entries: string[], trampolines: Trampoline[]): Jump[] {
    return trampolines.flatMap((one, index) => one.refusal !== REFUSED_NOTHING || ptr(one.address).isNull() ? [] : [{
        address: ptr(entries[index]).add(one.skip), leadsTo: ptr(one.address), original: one.original,
    }]);
}

interface Made {
    trampolines: Trampoline[];
    /** Whether a function jumps to its own entry. */
    loops: boolean[];
}

/** `enter`: where they lead, if not to what records the call. */
export function makeTrampolines(recorder: Recorder, specs: ProbeSpecs, enter?: NativePointer): Made {
    const made: Made = { trampolines: new Array<Trampoline>(specs.ids.length), loops: new Array<boolean>(specs.ids.length).fill(false) };
    const known = new ModuleMap();
    for (const group of groups(specs.addresses.map(address => ptr(address)))) makeGroup(recorder, specs, group, known, made, enter);
    return made;
}

/** Their indexes, by address, in groups that one piece of memory can reach. */
export function groups(addresses: NativePointer[]): number[][] {
    const order = addresses.map((_, index) => index).sort((a, b) => addresses[a].compare(addresses[b]));
    const all: number[][] = [];
    let start = NULL;
    for (const index of order) {
        if (all.length === 0 || addresses[index].sub(start).compare(GROUP_SPAN) > 0) {
            all.push([]);
            start = addresses[index];
        }
        all[all.length - 1].push(index);
    }
    return all;
}

function makeGroup(
    recorder: Recorder, specs: ProbeSpecs, group: number[], known: ModuleMap, made: Made, enter?: NativePointer,
): void {
    const first = ptr(specs.addresses[group[0]]);
    const last = ptr(specs.addresses[group[group.length - 1]]);
    const structs = fillIn(specs, group);
    const longest = group.reduce((most, index) => Math.max(most, specs.sizes[index]), 0);
    const mark = fillNear(first, last, group.length, { first, last }, memory => {
        recorder.entries.write(group.length, structs, memory, longest, enter ?? recorder.enter ?? NULL, recorder.codeChanges);
        recorder.sites?.noteTrampolines(memory, group.length, true);
    });
    group.forEach((index, position) => {
        const struct = structs.add(position * TRAMPOLINE.bytes);
        made.trampolines[index] = mark === null ? refused(REFUSED_TOO_FAR) : read(struct, known, mark.address, mark.number);
        made.loops[index] = (struct.add(TRAMPOLINE.result).readU32() & ENTRY_LOOPS) !== 0;
    });
}

export interface Mark {
    address: NativePointer;
    number: number;
}

/**
 * Memory for `count` trampolines, within reach of code from `first` to `last`, filled by `write`; goes with the library that has the code
 * of `owner`. Null where nothing is free there.
 */
export function fillNear(
    first: NativePointer, last: NativePointer, count: number, owner: { first: NativePointer; last: NativePointer },
    write: (memory: NativePointer) => void,
): Mark | null {
    const bytes = TRAMPOLINES_HEADER + TRAMPOLINE_BYTES * count;
    let memory: NativePointer;
    try {
        memory = mapNear(first, last, bytes);
    } catch {
        return null;
    }
    try {
        write(memory);
        // once the code was read: who finds the number there finds trampolines that were made of what stands there now
        const number = ++numbers;
        const address = memory.add(NUMBER_OFFSET);
        address.writeU64(number);
        makeExecutable(memory, bytes);
        own.push({ start: memory, end: memory.add(bytes), ...owner });
        return { address, number };
    } catch (error) {
        unmap(memory, bytes);
        throw error;
    }
}

/** struct strobe_trampoline for each. */
function fillIn(specs: ProbeSpecs, group: number[]): NativePointer {
    const structs = Memory.alloc(TRAMPOLINE.bytes * group.length);
    group.forEach((index, position) => {
        const struct = structs.add(position * TRAMPOLINE.bytes);
        struct.writePointer(ptr(specs.addresses[index]));
        struct.add(TRAMPOLINE.size).writeU64(specs.sizes[index]);
        struct.add(TRAMPOLINE.function).writeU32(specs.ids[index]);
    });
    return structs;
}

function read(struct: NativePointer, known: ModuleMap, mark: NativePointer, number: number): Trampoline {
    const refusal = struct.add(TRAMPOLINE.result).readU32() & ENTRY_REFUSAL;
    const leadsTo = struct.add(TRAMPOLINE.leadsTo).readPointer();
    if (refusal !== REFUSED_NOTHING) return refused(refusal);
    // a jump that leads out of all modules is somebody else's hook, which they will take out without asking
    if (!leadsTo.isNull() && !known.has(leadsTo) && !isOwn(leadsTo)) return refused(REFUSED_IN_USE);
    return {
        refusal: REFUSED_NOTHING,
        address: struct.add(TRAMPOLINE.address).readPointer().toString(),
        skip: struct.add(TRAMPOLINE.skip).readU32(),
        displaced: struct.add(TRAMPOLINE.displaced).readU32(),
        copies: struct.add(TRAMPOLINE.copies).readU32(),
        mark: mark.toString(),
        number,
        original: digits(struct.add(TRAMPOLINE.original).readByteArray(JUMP_BYTES) as ArrayBuffer),
    };
}
