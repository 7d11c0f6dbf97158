"""Walk-throughs: every claim at the blackboard, with small matrices and exact numbers.

Each one is a generator of steps, and stands with its claim. All that they show is computed, and every sentence that
says "the same" or "different" is checked before it is written.
"""
