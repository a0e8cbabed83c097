/**
 * The libraries of the target. One that is loaded while the program runs waits, in the thread that called dlopen, until the host
 * has placed its hooks: its constructors and first calls are recorded as well.
 */

import { isInode } from "./libc.js";
import type { Recorder } from "./recorder.js";

const LOOK_S = 0.001;
const LONGEST_LOOK_S = 0.016;

export interface ModuleAnswer {
    name: string;
    path: string;
    base: string;
    size: number;
}

/** The agent's connection: its descriptor and its inode's number, in digits. */
export type AgentSocket = [descriptor: number, inode: string];

let announced = 0;
let socket: AgentSocket | null = null;
let isLeaving = false;

export function connectedBy(own: AgentSocket | null): void {
    socket = own;
}

/** The program has closed the agent's descriptors, as daemons do: nobody can be told anything, and no answer comes. */
export function isCutOff(): boolean {
    return socket !== null && !isInode(...socket);
}

/** Nobody waits any more. */
export function leave(): void {
    isLeaving = true;
}

export function describe(module: Module): ModuleAnswer {
    return { name: module.name, path: module.path, base: module.base.toString(), size: module.size };
}

/** Calls back for libraries that come and go after this; Frida itself also tells of those that are there already. */
export function observe(added: (module: Module) => void, removed: (module: Module) => void): void {
    let known = false;
    Process.attachModuleObserver({
        onAdded(module) {
            if (known) added(module);
        },
        onRemoved(module) {
            if (known) removed(module);
        },
    });
    known = true;
}

/** Tells the host, and waits for its answer, for as long as one can come. */
export function announce(module: ModuleAnswer, recorder: Recorder | null): void {
    const ticket = `module-ready-${++announced}`;
    let isReady = false;
    if (!isCutOff()) {
        recv(ticket, () => { isReady = true; });
        send({ type: "module-added", module, ticket });
        for (let pause = LOOK_S; !isReady && !isLeaving && !isCutOff(); pause = Math.min(2 * pause, LONGEST_LOOK_S)) Thread.sleep(pause);
    }
    if (!isReady && !isLeaving) recorder?.noteUntold();
}
