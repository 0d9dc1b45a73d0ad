// A component that is drawn again only when one of its properties is another value.

import { Component, createElement, type FunctionComponent } from "preact";

export function memo<P extends object>(Inner: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const before = this.props as Record<string, unknown>;
      const after = next as Record<string, unknown>;
      const names = Object.keys(after);
      return names.length !== Object.keys(before).length || names.some((name) => !Object.is(before[name], after[name]));
    }
    override render() {
      return createElement(Inner, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
