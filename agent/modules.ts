/**
 * The libraries of the target. One that is loaded while the program runs waits, in the thread that called dlopen, until the host
 * has installed its hooks: its constructors and first calls are recorded as well.
 */

import { isInode } from "./libc.js";
import type { Recorder } from "./recorder.js";

const LOOK_S = 0.001;
const LONGEST_LOOK_S = 0.016;
// of struct r_debug (glibc's link.h), one for each namespace of libraries; that of the program's own is the first
const VERSION_WITH_NEXT = 2;
const NOTIFIER_OFFSET = 16; // the function that the dynamic linker calls at each change
const STATE_OFFSET = 24;
const NEXT_OFFSET = 40;
const CONSISTENT = 0;

export interface ModuleAnswer {
    name: string;
    path: string;
    base: string;
    size: number;
}

/** The agent's connection: its descriptor and its inode's number, in digits. */
export type AgentSocket = [descriptor: number, inode: string];

/** Libraries that have been unloaded, which the host may not have dealt with yet; another one may lie there by now. */
let gone: { removal: number; start: NativePointer; end: NativePointer }[] = [];
let removals = 0;

let announced = 0;
let socket: AgentSocket | null = null;
let isLeaving = false;

export function connectedBy(own: AgentSocket | null): void {
    socket = own;
}

/** The program has closed the agent's descriptors, as daemons do: nothing can be reported, and no answer comes. */
export function isCutOff(): boolean {
    return socket !== null && !isInode(...socket);
}

/** Nobody waits any more. */
export function leave(): void {
    isLeaving = true;
}

/** Its number, by which the host says that it has dealt with it. */
export function noteRemoval(module: Module): number {
    gone.push({ removal: ++removals, start: module.base, end: module.base.add(module.size) });
    return removals;
}

/** The host has dealt with the removals up to this one. */
export function forgetRemovals(until: number): void {
    gone = gone.filter(({ removal }) => removal > until);
}

export function isUnloaded(address: NativePointer): boolean {
    return gone.some(({ start, end }) => address.compare(start) >= 0 && address.compare(end) < 0);
}

export function describe(module: Module): ModuleAnswer {
    return { name: module.name, path: module.path, base: module.base.toString(), size: module.size };
}

/**
 * Calls back for libraries that come and go after this; Frida itself also reports those that are there already.
 * `others`: something has changed that Frida does not see, libraries in namespaces of their own (dlmopen). False where none will be reported.
 */
export function observe(
    recorder: Recorder, added: (module: Module) => void, removed: (module: Module) => void, others: () => void,
): boolean {
    const debug = linkersDebug(); // before any thread waits in the dynamic linker for the host
    let known = false;
    let isSeen = false;
    Process.attachModuleObserver({
        onAdded(module) {
            isSeen = true;
            if (known) added(module);
        },
        onRemoved(module) {
            isSeen = true;
            if (known) removed(module);
        },
    });
    known = true;
    isSeen = false;
    if (debug === null) return true; // without a dynamic linker none come
    recorder.callAtChanges(debug.add(STATE_OFFSET), () => { // after Frida's observer
        if (!isSeen && areConsistent(debug)) others();
        isSeen = false;
    });
    return recorder.isToldOfLibraries;
}

/** The dynamic linker's own: a program that refers to it has a copy, which does not change. */
function linkersDebug(): NativePointer | null {
    const found = Module.findGlobalExportByName("_r_debug");
    const linker = found === null ? null : Process.findModuleByAddress(found.add(NOTIFIER_OFFSET).readPointer());
    return linker?.findExportByName("_r_debug") ?? found;
}

/** Whether no namespace is in the middle of a change. */
function areConsistent(first: NativePointer): boolean {
    for (let debug = first; !debug.isNull(); debug = debug.add(NEXT_OFFSET).readPointer()) {
        if (debug.add(STATE_OFFSET).readU32() !== CONSISTENT) return false;
        if (debug.readU32() < VERSION_WITH_NEXT) break;
    }
    return true;
}

/** Reports to the host, and waits for its answer, for as long as one can come. `module`: null where only the host can find it. */
export function announce(module: ModuleAnswer | null, recorder: Recorder | null): void {
    const ticket = `module-ready-${++announced}`;
    let isReady = false;
    if (!isCutOff()) {
        recv(ticket, (answer: { removals: number }) => {
            isReady = true;
            forgetRemovals(answer.removals);
        });
        send({ type: "module-added", module, ticket });
        for (let pause = LOOK_S; !isReady && !isLeaving && !isCutOff(); pause = Math.min(2 * pause, LONGEST_LOOK_S)) Thread.sleep(pause);
    }
    if (!isReady && !isLeaving) recorder?.noteUnreported();
}
