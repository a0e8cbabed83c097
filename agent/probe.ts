/** What the host asks for (ProbeSpecs), and what it gets (Trampoline): strobe/capture/probes.py has the same on its side. */

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

export function refused(reason: number): Trampoline {
    return { refusal: reason, address: "0x0", skip: 0, displaced: 0, copies: 0, mark: "0x0", number: 0, original: "" };
}
