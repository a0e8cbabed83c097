/** The agent's message table: what the host (strobe/capture) can ask of it. */

import { type ExtrasRequest } from "./extras.js";
import {
    bufferStandardOutputByLine, closeDescriptor, endProgram, keepLibrary, loadLibrary, readOwnMemory, redirectStandardInput,
} from "./libc.js";
import { type AgentSocket, announce, connectedBy, describe, isCutOff, leave, type ModuleAnswer, noteRemoval, observe } from "./modules.js";
import { type Landing, type ObservedFunction } from "./observers.js";
import { storeAll, type StorePlace } from "./memory.js";
import { prepareForks } from "./libc_locks.js";
import { type Limit, type SiteSpecs, type SiteTrampoline, type ProbeChange } from "./probe_sites.js";
import { guardLoaderAtOnce, type ToldChange } from "./process_hooks.js";
import { forgetTrampolines, Hooks, type ProbeSpecs, type Trampoline } from "./trampolines.js";
import { Recorder, type RecorderAnswer, type RecorderRequest, STANDARD_UNWINDER } from "./recorder.js";

const LEAVE_TURNS = 40;
const LEAVE_TURN_S = 0.005;
const LOOK_MS = 50;
/**
 * What Frida's agent calls. Its own loader holds no reference to them, so the program's dlclose would unmap them under it. They stay when
 * the agent goes: a reference that is given back may wait for a thread of the program that loads a library.
 */
const AGENT_LIBRARIES = ["libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0"];

AGENT_LIBRARIES.forEach(keepLibrary);
loadLibrary(STANDARD_UNWINDER); // now, as the host holds the program's threads: a child has what the loader was doing as it was
guardLoaderAtOnce();

let recorder: Recorder | null = null;
let hooks: Hooks | null = null;

function running(): Hooks {
    if (hooks === null) throw new Error("the recorder has not been set up");
    return hooks;
}

/** A thread is still in code that goes with the agent, perhaps under a signal handler that waits: the agent goes after it. */
function stayUntilLeft(recorder: Recorder): void {
    if (recorder.letLeave() === 0) return;
    Script.pin();
    const timer = setInterval(() => {
        if (recorder.letLeave() > 0) return;
        clearInterval(timer);
        recorder.release();
        Script.unpin();
    }, LOOK_MS);
}

rpc.exports = {
    setup(request: RecorderRequest): RecorderAnswer {
        recorder = new Recorder(request);
        hooks = new Hooks(recorder);
        return recorder.answer;
    },

    /** `library`: path of the recorder's native form. */
    prepareForks(library: string): void {
        prepareForks(library);
    },

    /** What an agent before this one has left was taken back. */
    changeProcess(): ToldChange[] {
        return recorder?.changeProcess() ?? [];
    },

    /** `foreign`: numbers of files that the program has only because it was started by us. */
    prepareDescriptors(stdinPath: string | null, byLine: boolean, foreign: number[]): void {
        foreign.forEach(closeDescriptor);
        if (stdinPath !== null) redirectStandardInput(stdinPath);
        if (byLine) bufferStandardOutputByLine();
    },

    /** Those that are not Frida's own. Process.enumerateThreads stops each one, which took 15 s and found none at times. */
    programThreads(threads: number[]): number[] {
        return threads.filter(thread => !Cloak.hasThread(thread));
    },

    /** Only threads of the agent are left, and the main one has ended with `code`. */
    endProgram(code: number): void {
        endProgram(code);
    },

    modules(): ModuleAnswer[] {
        return Process.enumerateModules().map(describe);
    },

    /** From now on libraries are reported when they come and go; see modules.ts. `socket`: null where it is not known. False where none will be. */
    observeModules(socket: AgentSocket | null): boolean {
        connectedBy(socket);
        if (recorder === null) return false;
        const added = (module: Module): void => announce(describe(module), recorder);
        const { ticks } = recorder;
        return observe(recorder, added, module => {
            const gone = ticks().toString();
            const forget = (start: NativePointer, bytes: number): void => { recorder?.forgetCode(start, bytes); };
            forget(module.base, module.size);
            forgetTrampolines(module.base, module.size, forget);
            recorder?.extras.forget(module.base);
            if (isCutOff()) return; // nor is anything hooked any more
            send({ type: "module-removed", module: describe(module), gone, removal: noteRemoval(module) });
        }, () => { announce(null, recorder); });
    },

    /** Functions of the C library, and `landings` of the program, that the host is to write jumps into; none in the portable form. */
    observerTrampolines(landings: Landing[]): ObservedFunction[] {
        return recorder?.observers?.makeTrampolines(landings) ?? [];
    },

    /** Their jumps are there. */
    beginObserving(mayBeBlocked: boolean): void {
        recorder?.observers?.begin(mayBeBlocked);
    },

    registerUnwinder(addresses: string[]): void {
        addresses.forEach(address => recorder?.registerUnwinder(ptr(address)));
    },

    /** As Hooks.makeTrampolines. */
    makeTrampolines(specs: ProbeSpecs & { removals: number }, plans: ArrayBuffer): Trampoline[] {
        return running().makeTrampolines(specs, plans, specs.removals);
    },

    /** As Recorder.setCaptures. */
    setCaptures(first: number, captures: ArrayBuffer): void {
        recorder?.setCaptures(first, captures);
    },

    /** As Recorder.setPlans. */
    setPlans(ids: number[], plans: ArrayBuffer): void {
        recorder?.setPlans(ids, plans);
    },

    /** As ProbeSites.make; there are sites in the native form alone. */
    makeSites(specs: SiteSpecs): SiteTrampoline[] {
        return recorder?.sites?.make(specs) ?? [];
    },

    /** As ProbeSites.note. */
    noteProbes(changes: ProbeChange[]): boolean {
        return recorder?.sites?.note(changes) ?? false;
    },

    /** As ProbeSites.limit. */
    limitProbes(probes: number[], first: number, limit: Limit | null): void {
        recorder?.sites?.limit(probes, first, limit);
    },

    /** As ProbeSites.add. */
    addProbes(probes: [first: number, probe: number][]): void {
        recorder?.sites?.add(probes);
    },

    /** As ProbeSites.remove. */
    removeProbes(probes: [first: number, probe: number][]): void {
        recorder?.sites?.remove(probes);
    },

    /** `data`: as Extras.prepare takes it. */
    prepareExtras(request: ExtrasRequest, data: ArrayBuffer): number[] {
        if (recorder === null) throw new Error("the recorder has not been set up");
        return recorder.extras.prepare(request, data);
    },

    /** `callers`: as Recorder.setCallers takes them. */
    setCallers(callers: ArrayBuffer): void {
        recorder?.setCallers(callers);
    },

    /** As Unwinding.add. */
    addUnwindTables(sizes: number[], content: ArrayBuffer): string[] {
        return recorder?.unwinding.add(sizes, content) ?? [];
    },

    /** As Unwinding.set. */
    setUnwinding(directory: ArrayBuffer): void {
        recorder?.unwinding.set(directory);
    },

    assignExtras(ids: number[], sets: number[]): void {
        recorder?.extras.assign(ids, sets);
    },

    /** Lets a process read and write this one where the system allows that to relatives alone (Yama). */
    allowTracer(pid: number): boolean {
        return recorder?.allowTracer(pid) ?? false;
    },

    /** As Recorder.restoreTracer. */
    restoreTracer(): void {
        recorder?.restoreTracer();
    },

    /** Up to `size` bytes, read by the kernel: a bad address is no fault. */
    readMemory(address: string, size: number): ArrayBuffer {
        return readOwnMemory(ptr(address), size);
    },

    memoryMap(): string {
        return File.readAllText("/proc/self/maps");
    },

    /** `deadline`: ms since 1970; nothing is written after it. `content`: for each place its bytes, then its mask if it has one. */
    store(places: StorePlace[], deadline: number, content: ArrayBuffer): string[] {
        if (recorder === null) throw new Error("the recorder has not been set up");
        return storeAll(places, content, deadline, recorder);
    },

    setFlags(ids: number[], flags: number[]): void {
        recorder?.setFlags(ids, flags);
    },

    /** As Recorder.goOnAlone. The agent is unloaded next. */
    goOnAlone(): void {
        recorder?.goOnAlone();
    },

    /** As Recorder.leavesObservers. */
    leaveObservers(): void {
        if (recorder !== null) recorder.leavesObservers = true;
    },

    /** The hooks are out. What is observed stays so until no thread records any more. */
    stopRecording(): void {
        recorder?.stop(true);
    },

    /** No thread records any more, and nothing is observed: the program's handlers of faults are back, however long the agent stays. */
    leaveFaults(): void {
        recorder?.observers?.end();
    },

    /** Asked until it is 0, before the agent is unloaded: how many threads of the program are in code that goes with it. */
    letLeave(): number {
        return recorder?.letLeave() ?? 0;
    },

    /** Runs at unload, at detach, at exit, and when the host dies. */
    dispose(): void {
        leave();
        recorder?.callAtChanges(NULL, null);
        // has been waited for, unless the host is gone
        for (let turn = 0; turn < LEAVE_TURNS && (recorder?.letLeave() ?? 0) > 0; turn++) Thread.sleep(LEAVE_TURN_S);
        if (recorder !== null) stayUntilLeft(recorder);
        if (recorder?.goesOn === true) return;
        recorder?.codeChanges.takeBack(recorder.observers?.changes);
        recorder?.stop(false);
        if (recorder?.leavesObservers !== true) recorder?.codeChanges.takeBack();
        recorder?.end();
        if (recorder?.letLeave() === 0) recorder.release();
        hooks = null;
        recorder = null;
    },
};
