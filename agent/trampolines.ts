/** Trampolines: csrc/recorder/arch/x86_64/trampolines.c writes them, here is found where. */

import { digits, type Jump } from "./code_changes.js";
import { ENTRY_LOOPS, ENTRY_REFUSAL, HOOK, REFUSED_IN_USE, REFUSED_NOTHING, REFUSED_TOO_FAR, TRAMPOLINE_BYTES } from "./abi.js";
import { type HookAnswer, refused, type TrampolineRequest } from "./hooks.js";
import { makeExecutable, unmap } from "./libc.js";
import { mapNear } from "./near_memory.js";
import type { Recorder } from "./recorder.js";

const HEADER_BYTES = 16; // where they lead, and the number of this memory
const NUMBER_OFFSET = 8;
const JUMP_BYTES = 5;
const GROUP_SPAN = ptr(0x20000000); // functions that share memory lie so close together

/** All memory that has trampolines: a function may be both observed and traced. */
let own: { start: NativePointer; end: NativePointer; first: NativePointer; last: NativePointer }[] = [];

let numbers = 0; // of the memory that was ever made

function isOwn(address: NativePointer): boolean {
    return own.some(({ start, end }) => address.compare(start) >= 0 && address.compare(end) < 0);
}

/** A library was unloaded: with its functions nobody calls their trampolines any more. */
export function forgetTrampolines(base: NativePointer, size: number): void {
    const isGone = (address: NativePointer): boolean => address.compare(base) >= 0 && address.compare(base.add(size)) < 0;
    const gone = own.filter(({ first, last }) => isGone(first) && isGone(last));
    gone.forEach(({ start, end }) => { unmap(start, end.sub(start).toUInt32()); });
    own = own.filter(memory => !gone.includes(memory));
}

/** Those that the host is to write. */
export function jumpsOf(addresses: string[], answers: HookAnswer[]): Jump[] {
    return answers.flatMap((answer, index) => answer.refusal !== REFUSED_NOTHING || ptr(answer.trampoline).isNull() ? [] : [{
        address: ptr(addresses[index]).add(answer.skip), leadsTo: ptr(answer.trampoline), original: answer.original,
    }]);
}

export interface Trampoline {
    answer: HookAnswer;
    loopsToEntry: boolean;
}

/** `enter`: where they lead, if not to what records the call. */
export function makeTrampolines(recorder: Recorder, request: TrampolineRequest, enter?: NativePointer): Trampoline[] {
    const made = new Array<Trampoline>(request.ids.length);
    const known = new ModuleMap();
    for (const group of groups(request.addresses.map(address => ptr(address)))) {
        const found = makeGroup(recorder, request, group, known, enter);
        group.forEach((index, position) => { made[index] = found[position]; });
    }
    return made;
}

/** Indexes of the functions, by address, in groups that one piece of memory can reach. */
function groups(addresses: NativePointer[]): number[][] {
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
    recorder: Recorder, request: TrampolineRequest, group: number[], known: ModuleMap, enter?: NativePointer,
): Trampoline[] {
    const bytes = HEADER_BYTES + TRAMPOLINE_BYTES * group.length;
    const first = ptr(request.addresses[group[0]]);
    const last = ptr(request.addresses[group[group.length - 1]]);
    let memory: NativePointer;
    try {
        memory = mapNear(first, last, bytes);
    } catch {
        return group.map(() => ({ answer: refused(REFUSED_TOO_FAR), loopsToEntry: false }));
    }
    try {
        const hooks = fillIn(request, group);
        const longest = group.reduce((most, index) => Math.max(most, request.sizes[index]), 0);
        recorder.writeTrampolines(group.length, hooks, memory, longest, enter);
        // once the code was read: who finds the number there finds trampolines that were made of what stands there now
        const number = ++numbers;
        memory.add(NUMBER_OFFSET).writeU64(number);
        makeExecutable(memory, bytes);
        own.push({ start: memory, end: memory.add(bytes), first, last });
        return group.map((_, position) => read(hooks.add(position * HOOK.bytes), known, memory.add(NUMBER_OFFSET), number));
    } catch (error) {
        unmap(memory, bytes);
        throw error;
    }
}

function fillIn(request: TrampolineRequest, group: number[]): NativePointer {
    const hooks = Memory.alloc(HOOK.bytes * group.length);
    group.forEach((index, position) => {
        const hook = hooks.add(position * HOOK.bytes);
        hook.writePointer(ptr(request.addresses[index]));
        hook.add(HOOK.size).writeU64(request.sizes[index]);
        hook.add(HOOK.function).writeU32(request.ids[index]);
    });
    return hooks;
}

function read(hook: NativePointer, known: ModuleMap, mark: NativePointer, number: number): Trampoline {
    const result = hook.add(HOOK.result).readU32();
    const refusal = result & ENTRY_REFUSAL;
    const leadsTo = hook.add(HOOK.leadsTo).readPointer();
    const loopsToEntry = (result & ENTRY_LOOPS) !== 0;
    if (refusal !== REFUSED_NOTHING) return { answer: refused(refusal), loopsToEntry };
    // a jump that leads out of all modules is somebody else's hook, which they will take out without asking
    if (!leadsTo.isNull() && !known.has(leadsTo) && !isOwn(leadsTo)) return { answer: refused(REFUSED_IN_USE), loopsToEntry };
    const trampoline = hook.add(HOOK.trampoline).readPointer().toString();
    const [skip, displaced] = [hook.add(HOOK.skip).readU32(), hook.add(HOOK.displaced).readU32()];
    const copies = hook.add(HOOK.copies).readU32();
    const original = digits(hook.add(HOOK.original).readByteArray(JUMP_BYTES) as ArrayBuffer);
    const answer = { refusal: REFUSED_NOTHING, trampoline, skip, displaced, copy: trampoline, copies, mark: mark.toString(), number, original };
    return { answer, loopsToEntry };
}
