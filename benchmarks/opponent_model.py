"""Scratch"""
