/**
 * Instructions that are probed: their trampolines (csrc/recorder/arch/x86_64/trampolines.c), what of them is noted before the host writes
 * anything into the code, and which probes an instruction has. strobe/capture/probe_sites.py has the other side.
 */

import { SITE, REFUSED_NOT_CODE, REFUSED_NOTHING, REFUSED_TOO_FAR, TRAMPOLINE_BYTES, TRAMPOLINES_HEADER } from "./abi.js";
import { digits } from "./code_changes.js";
import { PresentCode } from "./present_code.js";
import type { Recorder } from "./recorder.js";
import { fillNear, groups, type Mark } from "./trampolines.js";

const LONGEST_INSTRUCTION = 15;

export interface SiteSpecs {
    /** The number of the first probe of each. */
    ids: number[];
    /** Where the instructions lie. */
    addresses: string[];
    /** Where the program has them: for a copy in a trampoline that of which it is one. */
    owners: string[];
}

export interface SiteTrampoline {
    /** Why there is none: REFUSED_… */
    refusal: number;
    address: string;
    /** Where its last jump lies; "0x0" where nothing follows the instruction. */
    back: string;
    /** The instruction, in hexadecimal digits. */
    original: string;
    /** There lies `number` for as long as the trampoline does. */
    mark: string;
    number: number;
}

/** A change of code that the host is about to make. */
export interface ProbeChange {
    address: string;
    leadsTo: string;
    /** Up to 8 bytes of the instruction, in hexadecimal digits. */
    original: string;
    isBreakpoint: boolean;
}

/** Behind the first `after` times `most` are recorded, and `rate` in a second; `isCounted`: recipes know how often threads came by. */
export type Limit = [after: number, most: number, rate: number, isCounted: number];

function refused(refusal: number): SiteTrampoline {
    return { refusal, address: "0x0", back: "0x0", original: "", mark: "0x0", number: 0 };
}

export class ProbeSites {
    private readonly write: (
        count: number, sites: NativePointer, memory: NativePointer, enter: UInt64, changes: NativePointer, changeCount: number) => number;
    private readonly enter: UInt64;
    private readonly catchTraps: () => number;
    private readonly setTrap: (address: UInt64, leadsTo: UInt64) => number;
    private readonly addProbe: (first: number, probe: number) => void;
    private readonly removeProbe: (first: number, probe: number) => void;
    private readonly addSiteRange: (start: UInt64, bytes: UInt64, isOfFunctions: number) => void;
    private readonly setSite: (first: number, address: UInt64) => void;
    private readonly beginLimit: (first: number, after: number, most: number, rate: number, isCounted: number) => void;
    private readonly limitProbe: (probe: number, first: number) => void;

    constructor(private readonly recorder: Recorder, form: Record<string, NativePointer>, tools: Record<string, NativePointer>) {
        this.write = new NativeFunction(
            tools.strobe_agent_write_sites, "int", ["uint32", "pointer", "pointer", "uint64", "pointer", "uint64"]);
        this.enter = uint64((new NativeFunction(form.strobe_native_sites, "pointer", [])() as NativePointer).toString());
        this.catchTraps = new NativeFunction(form.strobe_native_catch_traps, "int", []);
        this.setTrap = new NativeFunction(form.strobe_agent_set_trap, "int", ["uint64", "uint64"]);
        this.addSiteRange = new NativeFunction(form.strobe_agent_add_site_range, "void", ["uint64", "uint64", "int"]);
        this.setSite = new NativeFunction(form.strobe_agent_set_site, "void", ["uint32", "uint64"]);
        this.beginLimit = new NativeFunction(form.strobe_agent_begin_limit, "void", ["uint32", "uint32", "uint32", "uint32", "uint32"]);
        this.limitProbe = new NativeFunction(form.strobe_agent_limit_probe, "void", ["uint32", "uint32"]);
        this.addProbe = new NativeFunction(form.strobe_agent_add_probe, "void", ["uint32", "uint32"]);
        this.removeProbe = new NativeFunction(form.strobe_agent_remove_probe, "void", ["uint32", "uint32"]);
    }

    /** Changes no code of the program. */
    make(specs: SiteSpecs): SiteTrampoline[] {
        const code = new PresentCode();
        const made = specs.ids.map(() => refused(REFUSED_NOT_CODE));
        const there = specs.ids.map((_, index) => index).filter(index => code.has(Number(specs.addresses[index]), 1));
        for (const group of groups(there.map(index => ptr(specs.addresses[index])))) this.makeGroup(specs, group.map(at => there[at]), made);
        return made;
    }

    /** They are about to be used: a fault there is one of the program's own code. */
    noteTrampolines(memory: NativePointer, count: number, isOfFunctions: boolean): void {
        this.addSiteRange(uint64(memory.toString()), uint64(TRAMPOLINES_HEADER + TRAMPOLINE_BYTES * count), isOfFunctions ? 1 : 0);
    }

    private makeGroup(specs: SiteSpecs, group: number[], made: SiteTrampoline[]): void {
        const structs = Memory.alloc(SITE.bytes * group.length);
        group.forEach((index, position) => {
            structs.add(position * SITE.bytes).writePointer(ptr(specs.addresses[index])).add(SITE.function).writeU32(specs.ids[index]);
        });
        const first = ptr(specs.addresses[group[0]]);
        const last = ptr(specs.addresses[group[group.length - 1]]).add(LONGEST_INSTRUCTION);
        const owners = group.map(index => ptr(specs.owners[index])).sort((a, b) => a.compare(b));
        const mark = fillNear(first, last, group.length, { first: owners[0], last: owners[owners.length - 1] }, memory => {
            const { list, length } = this.recorder.codeChanges;
            if (this.write(group.length, structs, memory, this.enter, list, length) !== 0) throw new Error("there is no decoder");
            this.noteTrampolines(memory, group.length, false);
        });
        group.forEach(index => { if (specs.addresses[index] === specs.owners[index]) this.setSite(specs.ids[index], uint64(specs.owners[index])); });
        group.forEach((index, position) => { made[index] = read(structs.add(position * SITE.bytes), mark); });
    }

    /**
     * Before the host makes these changes. False where breakpoint instructions would end the program.
     */
    note(changes: ProbeChange[]): boolean {
        const traps = changes.filter(change => change.isBreakpoint);
        if (traps.length > 0 && this.catchTraps() === 0) return false;
        if (!traps.every(({ address, leadsTo }) => this.setTrap(uint64(address), uint64(leadsTo)) !== 0)) return false;
        this.recorder.codeChanges.note(changes.map(({ address, leadsTo, original, isBreakpoint }) => (
            { address: ptr(address), leadsTo: ptr(leadsTo), original, isBreakpoint, isProbe: true })));
        return true;
    }

    /**
     * Sites of the probe whose first site is `first` (0: it has no limit) count together: see Limit. Before they are noted.
     * `limit`: null where these sites come later than others, and what was counted stays.
     */
    limit(probes: number[], first: number, limit: Limit | null): void {
        if (limit !== null) this.beginLimit(first, ...limit);
        for (const probe of probes) this.limitProbe(probe, first);
    }

    /** More probes of instructions that have some: the number of an instruction's first one, and a further one's. */
    add(probes: [first: number, probe: number][]): void {
        for (const [first, probe] of probes) this.addProbe(first, probe);
    }

    /** Likewise, of those that are not wanted any more. */
    remove(probes: [first: number, probe: number][]): void {
        for (const [first, probe] of probes) this.removeProbe(first, probe);
    }
}

function read(struct: NativePointer, mark: Mark | null): SiteTrampoline {
    if (mark === null) return refused(REFUSED_TOO_FAR);
    const refusal = struct.add(SITE.result).readU32();
    if (refusal !== REFUSED_NOTHING) return refused(refusal);
    return {
        refusal,
        address: struct.add(SITE.leadsTo).readPointer().toString(),
        back: struct.add(SITE.back).readPointer().toString(),
        original: digits(struct.add(SITE.original).readByteArray(struct.add(SITE.size).readU32()) as ArrayBuffer),
        mark: mark.address.toString(),
        number: mark.number,
    };
}
